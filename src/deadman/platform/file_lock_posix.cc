#include "deadman/platform/file_lock.h"

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace deadman::platform {
namespace {

using base::ErrorCode;

base::Error lock_error(const std::string& path, int error_number) {
    return base::fail(ErrorCode::unavailable,
                      "cannot lock " + path + ": " + std::strerror(error_number));
}

// The file may have been removed, and made anew by another process, between open and flock: then
// what is locked is not what the path names.
bool is_still_named(int descriptor, const std::string& path) {
    struct stat held{};
    struct stat named{};
    return fstat(descriptor, &held) == 0 && stat(path.c_str(), &named) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

int flock_without_waiting(int descriptor) {
    int result = 0;
    do
        result = flock(descriptor, LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
    return result;
}

/// One line of /proc/locks: "1: POSIX  ADVISORY  WRITE 7682 fe:00:9978049 120 120".
struct LockLine {
    int pid = 0;
    unsigned major_number = 0;
    unsigned minor_number = 0;
    std::uint64_t inode = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

std::optional<LockLine> parse_lock_line(const std::string& text) {
    LockLine line;
    std::array<char, 32> last{};
    const int read = std::sscanf(
        text.c_str(), "%*d: POSIX %*s WRITE %d %x:%x:%" SCNu64 " %" SCNu64 " %31s", &line.pid,
        &line.major_number, &line.minor_number, &line.inode, &line.first, last.data());
    if (read != 6)
        return std::nullopt;
    line.last =
        std::strcmp(last.data(), "EOF") == 0 ? UINT64_MAX : std::strtoull(last.data(), nullptr, 10);
    return line;
}

} // namespace

base::Result<std::optional<FileLock>> FileLock::try_acquire(const std::string& path) {
    for (;;) {
        const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (descriptor < 0)
            return lock_error(path, errno);
        FileLock lock(descriptor, path);
        if (flock_without_waiting(descriptor) != 0) {
            if (errno == EWOULDBLOCK)
                return std::optional<FileLock>();
            return lock_error(path, errno);
        }
        if (is_still_named(descriptor, path))
            return std::optional<FileLock>(std::move(lock));
    }
}

FileLock::FileLock(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {}

FileLock::FileLock(FileLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    return *this;
}

FileLock::~FileLock() {
    if (descriptor_ >= 0)
        close(descriptor_);
}

void FileLock::remove_and_release() {
    if (descriptor_ < 0)
        return;
    if (is_still_named(descriptor_, path_))
        unlink(path_.c_str());
    close(std::exchange(descriptor_, -1));
}

std::optional<int> byte_lock_holder(const std::string& path, std::uint64_t offset) {
    struct stat file{};
    if (stat(path.c_str(), &file) != 0)
        return std::nullopt;
    std::ifstream locks("/proc/locks");
    for (std::string text; std::getline(locks, text);) {
        const auto line = parse_lock_line(text);
        if (line && line->pid > 0 && line->inode == file.st_ino &&
            line->major_number == major(file.st_dev) && line->minor_number == minor(file.st_dev) &&
            line->first <= offset && offset <= line->last)
            return line->pid;
    }
    return std::nullopt;
}

bool is_on_network_file_system(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    struct statfs system{};
    if (statfs(path.c_str(), &system) != 0 && statfs(folder.c_str(), &system) != 0)
        return false;
    // From statfs(2): NFS, SMB, SMB2, CIFS, AFS, Coda, 9P, Ceph, Lustre.
    static constexpr std::array<std::uint32_t, 9> remote{0x6969,     0x517B,     0xFE534D42,
                                                         0xFF534D42, 0x5346414F, 0x73757245,
                                                         0x01021997, 0x00C36400, 0x0BD00BD0};
    const auto type = static_cast<std::uint32_t>(system.f_type);
    for (const std::uint32_t magic : remote)
        if (type == magic)
            return true;
    return false;
}

std::string boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

} // namespace deadman::platform

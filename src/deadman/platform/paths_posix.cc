#include "deadman/platform/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "deadman/base/random.h"
#include "deadman/platform/internal/descriptor.h"
#include "deadman/platform/internal/system_error.h"

namespace deadman::platform {

using internal::OwnedDescriptor;
using internal::system_error;

namespace {

constexpr mode_t private_file = 0600;
constexpr mode_t private_directory = 0700;

std::string parent_of(const std::string& path) {
    const std::string parent = std::filesystem::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

base::Status write_all(int descriptor, std::string_view text, const std::string& path) {
    while (!text.empty()) {
        const ssize_t count = ::write(descriptor, text.data(), text.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return system_error("cannot write " + path, errno);
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

base::Status write_and_sync(const std::string& path, std::string_view contents) {
    OwnedDescriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, private_file));
    if (!file.is_open())
        return system_error("cannot create " + path, errno);
    DEADMAN_TRY_STATUS(write_all(file.get(), contents, path));
    if (::fsync(file.get()) != 0)
        return system_error("cannot write " + path, errno);
    return {};
}

base::Status sync_folder_of(const std::string& path) {
    const OwnedDescriptor folder(
        ::open(parent_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.is_open() || ::fsync(folder.get()) != 0)
        return system_error("cannot write the folder of " + path, errno);
    return {};
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

} // namespace

base::Status create_directories(const std::string& path) {
    if (::mkdir(path.c_str(), private_directory) == 0)
        return {};
    if (errno == ENOENT && parent_of(path) != path) {
        DEADMAN_TRY_STATUS(create_directories(parent_of(path)));
        if (::mkdir(path.c_str(), private_directory) == 0)
            return {};
    }
    const int error = errno;
    std::error_code ignored;
    if (error == EEXIST && std::filesystem::is_directory(path, ignored))
        return {};
    return system_error("cannot create the folder " + path, error);
}

base::Status write_file_atomically(const std::string& path, std::string_view contents) {
    const std::string draft = path + ".new-" + base::random_hex(6);
    if (base::Status written = write_and_sync(draft, contents); !written) {
        ::unlink(draft.c_str());
        return written;
    }
    if (::rename(draft.c_str(), path.c_str()) != 0) {
        const int error = errno;
        ::unlink(draft.c_str());
        return system_error("cannot replace " + path, error);
    }
    return sync_folder_of(path);
}

base::Status publish_file(const std::string& draft, const std::string& name) {
    const OwnedDescriptor file(::open(draft.c_str(), O_RDWR | O_CLOEXEC));
    if (!file.is_open() || ::fchmod(file.get(), private_file) != 0 || ::fsync(file.get()) != 0)
        return system_error("cannot write " + draft, errno);
    // A rename would replace what is there; where there are no links, look first.
    if (::link(draft.c_str(), name.c_str()) != 0) {
        const int error = errno;
        std::error_code ignored;
        const bool has_no_links = error == EPERM || error == EOPNOTSUPP || error == ENOSYS;
        if (!has_no_links || std::filesystem::exists(name, ignored))
            return system_error("cannot create " + name, has_no_links ? EEXIST : error);
        if (::rename(draft.c_str(), name.c_str()) != 0)
            return system_error("cannot create " + name, errno);
    }
    ::unlink(draft.c_str());
    return sync_folder_of(name);
}

base::Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
    const OwnedDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open())
        return system_error("cannot open " + path, errno);
    std::string contents;
    char block[64 * 1024];
    for (;;) {
        const ssize_t count = ::read(file.get(), block, sizeof block);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return system_error("cannot read " + path, errno);
        if (count == 0)
            return contents;
        contents.append(block, static_cast<std::size_t>(count));
        if (contents.size() > max_bytes)
            return base::fail(base::ErrorCode::exhausted,
                              path + " is longer than " + std::to_string(max_bytes) + " bytes");
    }
}

std::string temporary_root() {
    const std::string root = environment("TMPDIR");
    return root.empty() ? "/tmp" : root;
}

base::Result<std::string> default_data_directory() {
    if (const std::string state = environment("STATE_DIRECTORY"); !state.empty())
        return state.substr(0, state.find(':'));
    // A relative path there is to be ignored, says the specification.
    if (const std::string data = environment("XDG_DATA_HOME"); data.starts_with('/'))
        return data + "/deadman";
    if (const std::string home = environment("HOME"); home.starts_with('/'))
        return home + "/.local/share/deadman";
    return base::fail(base::ErrorCode::not_found,
                      "no data folder: neither STATE_DIRECTORY, XDG_DATA_HOME nor HOME is set");
}

base::Result<TemporaryDirectory> TemporaryDirectory::create(std::string_view prefix) {
    std::string path = temporary_root() + "/" + std::string(prefix) + "-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr)
        return system_error("cannot create a temporary folder " + path, errno);
    return TemporaryDirectory(std::move(path));
}

TemporaryDirectory::TemporaryDirectory(std::string path) : path_(std::move(path)) {}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
}

TemporaryDirectory::~TemporaryDirectory() {
    if (path_.empty())
        return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void TemporaryDirectory::keep() {
    path_.clear();
}

base::Result<AppendFile> AppendFile::open(const std::string& path) {
    const int descriptor =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, private_file);
    if (descriptor < 0)
        return system_error("cannot open " + path, errno);
    return AppendFile(descriptor);
}

AppendFile::AppendFile(int descriptor) : descriptor_(descriptor) {}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

AppendFile::~AppendFile() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

base::Status AppendFile::append(std::string_view text) const {
    return write_all(descriptor_, text, "an append-only file");
}

} // namespace deadman::platform

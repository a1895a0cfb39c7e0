#include "apps/deadman/demo/demo_folder.h"

#include <filesystem>
#include <utility>

#include "deadman/platform/paths.h"

namespace deadman::demo {
namespace {

namespace fs = std::filesystem;

// Its name says whose folder it is; it is also what is locked.
constexpr const char* mark = "deadman-demo.lock";
constexpr const char* store_folder = "store";
constexpr const char* run_folder = "run";

base::Error refused(const std::string& path, const std::string& why) {
    return base::fail(base::ErrorCode::conflict, path + ": " + why);
}

bool is_foreign(const std::string& path) {
    std::error_code error;
    const bool empty = fs::is_empty(path, error);
    return !error && !empty && !fs::exists(path + "/" + mark);
}

} // namespace

base::Result<DemoFolder> DemoFolder::take(const std::string& path) {
    DEADMAN_TRY_STATUS(platform::create_directories(path));
    if (is_foreign(path))
        return refused(path, "is not empty and not an earlier demo's; choose another folder");
    DEADMAN_TRY(auto lock, platform::FileLock::try_acquire(path + "/" + mark));
    if (!lock)
        return refused(path, "another demo is running here");
    for (const char* name : {store_folder, run_folder}) {
        const std::string part = path + "/" + name;
        std::error_code error;
        fs::remove_all(part, error);
        if (error)
            return refused(part, "cannot be removed: " + error.message());
        DEADMAN_TRY_STATUS(platform::create_directories(part));
    }
    return DemoFolder(path, std::move(*lock));
}

DemoFolder::DemoFolder(std::string path, platform::FileLock lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

std::string DemoFolder::store_path() const {
    return path_ + "/" + store_folder + "/deadman.db";
}

std::string DemoFolder::run_path() const {
    return path_ + "/" + run_folder;
}

} // namespace deadman::demo

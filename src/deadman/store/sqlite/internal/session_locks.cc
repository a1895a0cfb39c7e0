#include "deadman/store/sqlite/internal/session_locks.h"

#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace deadman::store::sqlite {

namespace {

constexpr std::string_view ending = ".lock";

std::string folder_of(const std::string& database_path) {
    return database_path + ".sessions";
}

std::optional<domain::SessionId> session_of(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    std::int64_t number = 0;
    const char* const last = name.data() + name.size();
    const auto [end, error] = std::from_chars(name.data(), last, number);
    if (error != std::errc{} || std::string_view(end, last) != ending)
        return std::nullopt;
    return domain::SessionId{number};
}

} // namespace

SessionLocks::SessionLocks(const std::string& database_path) : folder_(folder_of(database_path)) {}

std::string SessionLocks::path_of(domain::SessionId session) const {
    return folder_ + "/" + std::to_string(session.value) + std::string(ending);
}

void SessionLocks::hold(domain::SessionId session) {
    std::error_code ignored;
    std::filesystem::create_directory(folder_, ignored);
    auto lock = platform::FileLock::try_acquire(path_of(session));
    if (!lock || !*lock)
        return;
    const std::lock_guard guard(mutex_);
    held_.insert_or_assign(session, std::move(**lock));
}

void SessionLocks::release(domain::SessionId session) {
    const std::lock_guard guard(mutex_);
    const auto found = held_.find(session);
    if (found == held_.end())
        return;
    found->second.remove_and_release();
    held_.erase(found);
}

std::optional<platform::FileLock> SessionLocks::take_if_dead(domain::SessionId session) {
    const std::string path = path_of(session);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
        return std::nullopt;
    auto lock = platform::FileLock::try_acquire(path);
    if (!lock)
        return std::nullopt;
    return std::move(*lock);
}

std::vector<domain::SessionId> held_sessions(const std::string& database_path) {
    std::vector<domain::SessionId> held;
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(folder_of(database_path), error)) {
        const auto session = session_of(file.path());
        const auto lock = session ? platform::FileLock::try_acquire(file.path().string())
                                  : base::Result<std::optional<platform::FileLock>>(std::nullopt);
        if (session && lock && !*lock)
            held.push_back(*session);
    }
    return held;
}

} // namespace deadman::store::sqlite

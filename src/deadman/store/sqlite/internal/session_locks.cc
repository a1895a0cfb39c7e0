#include "deadman/store/sqlite/internal/session_locks.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace deadman::store::sqlite {

SessionLocks::SessionLocks(const std::string& database_path)
    : folder_(database_path + ".sessions") {}

std::string SessionLocks::path_of(domain::SessionId session) const {
    return folder_ + "/" + std::to_string(session.value) + ".lock";
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

} // namespace deadman::store::sqlite

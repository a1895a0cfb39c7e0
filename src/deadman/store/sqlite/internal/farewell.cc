#include "deadman/store/sqlite/internal/farewell.h"

#include <utility>

#include "deadman/platform/file_lock.h"

namespace deadman::store::sqlite {

Farewell::Farewell(std::unique_ptr<Connection> connection, std::string path, FileWatch& watch,
                   std::uint64_t most_bytes)
    : connection_(std::move(connection)), path_(std::move(path)), watch_(watch),
      most_bytes_(most_bytes) {}

Farewell::~Farewell() {
    if (!watch_.check())
        return;
    const auto log = platform::identify_file(path_ + "-wal");
    const auto owner = platform::FileLock::try_acquire(path_ + ".owner");
    const bool may_copy = log && log->bytes <= most_bytes_ && owner && *owner;
    connection_->set_checkpoint_at_close(may_copy);
    connection_.reset(); // while the owner's lock is held
}

} // namespace deadman::store::sqlite

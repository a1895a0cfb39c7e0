#include "deadman/store/sqlite/internal/readers.h"

#include <utility>

namespace deadman::store::sqlite {
namespace {

constexpr std::size_t most_idle = 4;

} // namespace

Readers::Readers(ConnectionOptions options, FileWatch& watch)
    : options_(std::move(options)), watch_(watch) {}

base::Result<std::unique_ptr<Connection>> Readers::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            std::unique_ptr<Connection> connection = std::move(idle_.back());
            idle_.pop_back();
            return connection;
        }
    }
    return watch_.open(options_);
}

void Readers::give_back(std::unique_ptr<Connection> connection) {
    connection->roll_back(); // an open snapshot would keep the log from being cut
    const std::lock_guard lock(mutex_);
    if (idle_.size() < most_idle)
        idle_.push_back(std::move(connection));
}

} // namespace deadman::store::sqlite

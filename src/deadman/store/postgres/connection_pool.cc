#include "deadman/store/postgres/internal/connection_pool.h"

#include <algorithm>
#include <utility>

#include "deadman/store/postgres/internal/failure.h"

namespace deadman::store::postgres {

using base::ErrorCode;

namespace {

constexpr base::Duration first_pause = std::chrono::milliseconds(25);
constexpr base::Duration longest_pause = std::chrono::milliseconds(500);

} // namespace

ConnectionPool::Lent::Lent(ConnectionPool& pool, std::unique_ptr<Connection> connection)
    : pool_(&pool), connection_(std::move(connection)) {}

ConnectionPool::Lent::~Lent() {
    if (!connection_)
        return;
    if (spent_)
        discard();
    else
        pool_->give_back(std::move(connection_));
}

void ConnectionPool::Lent::discard() {
    connection_.reset();
    pool_->give_back(nullptr);
}

ConnectionPool::ConnectionPool(base::Clock& clock, const ConnectionSettings& settings, int most,
                               base::Duration acquire_timeout)
    : clock_(clock), settings_(settings), most_(std::max(most, 1)),
      acquire_timeout_(acquire_timeout) {}

base::Result<ConnectionPool::Lent> ConnectionPool::acquire() {
    DEADMAN_TRY(std::unique_ptr<Connection> connection, take_idle_or_slot());
    try {
        if (connection && !connection->is_alive())
            connection.reset();
        if (connection)
            connection->prepare_for_use();
    } catch (const std::exception&) {
        connection.reset(); // closed between two looks
    }
    if (!connection) {
        auto opened = connect();
        if (!opened) {
            give_back(nullptr);
            return std::move(opened).error();
        }
        connection = std::move(*opened);
    }
    return Lent(*this, std::move(connection));
}

base::Result<std::unique_ptr<Connection>> ConnectionPool::take_idle_or_slot() {
    std::unique_lock lock(mutex_);
    const bool free = clock_.wait_until(lock, freed_, clock_.steady_now() + acquire_timeout_,
                                        [&] { return !idle_.empty() || out_ < most_; });
    if (!free)
        return base::fail(ErrorCode::exhausted, "all connections to the store are in use");
    ++out_;
    std::unique_ptr<Connection> connection;
    if (!idle_.empty()) {
        connection = std::move(idle_.back()); // the one used last: the others may go cold
        idle_.pop_back();
    }
    return connection;
}

base::Result<std::unique_ptr<Connection>> ConnectionPool::connect() {
    {
        const std::lock_guard lock(mutex_);
        if (clock_.steady_now() < not_before_)
            return base::fail(ErrorCode::unavailable, last_failure_);
    }
    try {
        auto connection = std::make_unique<Connection>(settings_);
        connection->prepare_for_use();
        const std::lock_guard lock(mutex_);
        pause_ = {};
        not_before_ = {};
        return connection;
    } catch (const std::exception& exception) {
        Failure failure = translate_failure(exception, Sent::writing);
        const std::lock_guard lock(mutex_);
        pause_ = std::clamp(pause_ * 2, first_pause, longest_pause);
        not_before_ = clock_.steady_now() + pause_;
        last_failure_ = failure.error.message;
        return std::move(failure.error);
    }
}

void ConnectionPool::give_back(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    --out_;
    if (connection)
        idle_.push_back(std::move(connection));
    freed_.notify_one();
}

} // namespace deadman::store::postgres

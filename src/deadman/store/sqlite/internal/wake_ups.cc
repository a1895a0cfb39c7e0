#include "deadman/store/sqlite/internal/wake_ups.h"

#include <algorithm>
#include <utility>

#include "deadman/store/sqlite/internal/claims.h"

namespace deadman::store::sqlite {
namespace {

constexpr base::Duration look_every = std::chrono::milliseconds(40);

} // namespace

WakeUps::WakeUps(std::unique_ptr<Connection> connection, base::Clock& clock)
    : connection_(std::move(connection)), clock_(clock) {}

// Work that everybody may take ends the wait also where it was there before: a commit between the
// caller's last claim and this call is not missed. A suspect ends it only when something has
// changed, for a worker that is not drained leaves it where it is.
void WakeUps::wait(std::span<const std::string> queues, base::Duration patience) {
    const base::SteadyTime deadline = clock_.steady_now() + patience;
    std::unique_lock lock(mutex_);
    const std::uint64_t interrupts = interrupts_;
    bool has_changed = false;
    look_elsewhere();
    while (interrupts_ == interrupts && !is_claimable(queues, has_changed) &&
           clock_.steady_now() < deadline) {
        const std::uint64_t seen = changes_;
        clock_.wait_until(lock, changed_, std::min(deadline, clock_.steady_now() + look_every),
                          [&] {
                              look_elsewhere();
                              return interrupts_ != interrupts || changes_ != seen;
                          });
        has_changed = changes_ != seen;
    }
}

void WakeUps::interrupt() {
    {
        const std::lock_guard lock(mutex_);
        ++interrupts_;
    }
    changed_.notify_all();
}

void WakeUps::notify() {
    {
        const std::lock_guard lock(mutex_);
        ++changes_;
    }
    changed_.notify_all();
}

bool WakeUps::is_claimable(std::span<const std::string> queues, bool suspects_too) {
    try {
        return has_claimable(*connection_, queues) ||
               (suspects_too && has_suspect(*connection_, queues));
    } catch (const SqliteFailure&) {
        return false; // the caller's next claim tells it better; the patience bounds the wait
    }
}

void WakeUps::look_elsewhere() {
    try {
        Cursor row = connection_->query("PRAGMA data_version");
        if (row.next() && std::exchange(data_version_, row.integer(0)) != row.integer(0))
            ++changes_;
    } catch (const SqliteFailure&) {
        ++changes_;
    }
}

} // namespace deadman::store::sqlite

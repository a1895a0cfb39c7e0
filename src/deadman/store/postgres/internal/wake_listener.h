#pragma once
// WakeListener: waits for NOTIFY on a connection of its own and wakes those who wait for work.
//
// The server notifies only while somebody has announced that he waits, because a notification takes
// a lock of the whole server at commit. Who has just announced himself is woken at once: what came
// in before he did was not notified.
//
// Thread-safety: safe for concurrent use.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "deadman/base/clock.h"
#include "deadman/base/random.h"
#include "deadman/store/postgres/internal/connection.h"

namespace deadman::store::postgres {

class WakeListener {
  public:
    /// `announce` tells the server that someone waits on the queues until now + life, and is false
    /// where that failed; `lower` is told of each queue and ticket to look at again.
    using Announce = std::function<bool(const std::string& store, const std::string& queues,
                                        base::Duration life)>;
    using Lower = std::function<void(int queue, std::int64_t ticket)>;

    WakeListener(base::Clock& clock, const ConnectionSettings& settings, std::uint64_t seed,
                 Announce announce, Lower lower);
    ~WakeListener();

    void wait(std::span<const std::string> queues, base::Duration patience);
    void interrupt();

    /// Work was found: whoever still stands announced pays for nothing. The name to retract, once,
    /// or empty.
    std::string take_stale_announcement();

  private:
    void start();
    void run();
    void listen_until_broken();
    void hear(std::string_view payload);
    bool pause(base::Duration by);
    bool announce_if_needed(std::unique_lock<std::mutex>& lock, std::span<const std::string> queues,
                            base::Duration patience);

    base::Clock& clock_;
    const ConnectionSettings& settings_;
    const Announce announce_;
    const Lower lower_;
    const std::string name_;
    std::mutex mutex_;
    std::condition_variable changed_;
    base::Random random_;          // guarded by mutex_, as all below
    std::uint64_t generation_ = 0; // grows with everything that ends a wait
    bool listening_ = false;
    bool stopping_ = false;
    std::string announced_queues_;
    base::SteadyTime announced_until_{};
    base::SteadyTime waited_until_{};
    std::thread thread_;
};

} // namespace deadman::store::postgres

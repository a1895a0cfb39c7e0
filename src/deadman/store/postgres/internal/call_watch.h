#pragma once
// CallWatch: bounds the time that a call waits for the server.
//
// The driver waits for ever for a server that is there and silent (stopped, or behind a network
// that swallows everything): the kernel of such a server still acknowledges, so no setting of TCP
// helps. One thread for each store knows which sockets are being waited on and until when, and
// shuts down those that are past it; the driver then sees a lost connection.
//
// Thread-safety: safe for concurrent use; a Guard for the thread that uses the connection.

#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "deadman/base/clock.h"

namespace deadman::store::postgres {

class CallWatch {
    struct Call {
        int socket = -1;
        base::SteadyTime deadline = base::SteadyTime::max();
        bool cut = false;
    };

  public:
    explicit CallWatch(base::Clock& clock) : clock_(clock) {}

    ~CallWatch();

    CallWatch(const CallWatch&) = delete;
    CallWatch& operator=(const CallWatch&) = delete;

    /// Watches one socket while it lives. REQUIRES: the socket is open for as long.
    class Guard {
      public:
        Guard(CallWatch& watch, int socket, base::Duration bound);
        ~Guard();

        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

        /// Another call begins.
        void restart(base::Duration bound);

        /// Nobody waits for the server.
        void pause();

        bool was_cut() const;

      private:
        CallWatch& watch_;
        std::list<Call>::iterator call_;
    };

  private:
    void set_deadline(Call& call, base::SteadyTime deadline);
    void run();

    base::Clock& clock_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<Call> calls_;                               // guarded by mutex_, as all below
    base::SteadyTime looks_at_ = base::SteadyTime::max(); // when the thread looks next
    bool stopping_ = false;
    std::thread thread_; // started with the first call
};

} // namespace deadman::store::postgres

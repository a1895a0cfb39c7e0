#include "deadman/platform/adopted_children.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "deadman/platform/internal/guardian.h"

namespace deadman::platform {
namespace {

constexpr base::Duration look_every = std::chrono::seconds(1);

// Children are listed by the thread that made or adopted them.
void bury_ended() {
    std::error_code ignored;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
        std::ifstream children(task.path() / "children");
        for (pid_t pid = 0; children >> pid;)
            if (!internal::Guardian::of_this_process().knows(pid))
                ::waitpid(pid, nullptr, WNOHANG);
    }
}

} // namespace

AdoptedChildren::AdoptedChildren(base::Clock& clock) : clock_(clock) {
    if (::getpid() == 1)
        thread_ = std::thread([this] { run(); });
}

AdoptedChildren::~AdoptedChildren() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable())
        thread_.join();
}

void AdoptedChildren::run() {
    std::unique_lock lock(mutex_);
    while (!clock_.wait_until(lock, changed_, clock_.steady_now() + look_every,
                              [this] { return over_; })) {
        lock.unlock();
        bury_ended();
        lock.lock();
    }
}

} // namespace deadman::platform

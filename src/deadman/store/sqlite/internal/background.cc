#include "deadman/store/sqlite/internal/background.h"

#include <utility>

namespace deadman::store::sqlite {
namespace {

constexpr base::Duration watch_every = std::chrono::milliseconds(50);
constexpr base::Duration idle_for = std::chrono::minutes(1);

} // namespace

Background::Background(base::Clock& clock, Checkpoints checkpoints, Effects& effects,
                       int checkpoint_pages)
    : clock_(clock), checkpoints_(std::move(checkpoints)), effects_(effects),
      step_pages_(checkpoint_pages), next_checkpoint_(checkpoint_pages),
      thread_([this] { run(); }) {}

Background::~Background() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    wanted_.notify_one();
    thread_.join();
}

void Background::log_grew(int pages) {
    bool is_due = false;
    {
        const std::lock_guard lock(mutex_);
        // A shorter log has been started anew.
        if (pages < log_pages_)
            next_checkpoint_ = step_pages_;
        log_pages_ = pages;
        is_due = log_pages_ >= next_checkpoint_;
    }
    if (is_due)
        wanted_.notify_one();
}

void Background::transaction_begun() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(is_watching_, true))
            return;
    }
    wanted_.notify_one();
}

// Whether a checkpoint is due.
bool Background::wait(std::unique_lock<std::mutex>& lock) {
    const bool was_watching = is_watching_;
    clock_.wait_until(
        lock, wanted_, clock_.steady_now() + (was_watching ? watch_every : idle_for), [&] {
            return is_stopping_ || is_watching_ != was_watching || log_pages_ >= next_checkpoint_;
        });
    return log_pages_ >= next_checkpoint_;
}

void Background::run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
        const bool is_due = wait(lock);
        lock.unlock();
        effects_.end_overdue();
        if (is_due)
            checkpoint();
        lock.lock();
        is_watching_ = effects_.has_open();
    }
}

// The next one when the log has grown by another step: what a reader holds back now, or what
// another process is copying, is not asked for again and again.
void Background::checkpoint() {
    int log_pages = 0;
    {
        const std::lock_guard lock(mutex_);
        log_pages = log_pages_;
    }
    const auto report = checkpoints_.run(log_pages, step_pages_ / 4);
    const std::lock_guard lock(mutex_);
    const bool is_copied = report && report->is_owner && report->log_pages == report->copied_pages;
    // The log starts anew with the next commit, at length one; else go on from here.
    next_checkpoint_ = is_copied ? report->log_pages + step_pages_ : log_pages_ + step_pages_;
}

} // namespace deadman::store::sqlite

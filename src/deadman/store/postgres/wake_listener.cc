#include "deadman/store/postgres/internal/wake_listener.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "deadman/store/postgres/internal/array_text.h"

namespace deadman::store::postgres {
namespace {

constexpr base::Duration announcement_life = std::chrono::seconds(10);
constexpr base::Duration reconnect_pause = std::chrono::milliseconds(250);
constexpr long look_for_stop_us = 100'000;

std::string new_store_name() {
    const std::string hex = base::random_hex(16);
    return hex.substr(0, 8) + '-' + hex.substr(8, 4) + '-' + hex.substr(12, 4) + '-' +
           hex.substr(16, 4) + '-' + hex.substr(20);
}

} // namespace

WakeListener::WakeListener(base::Clock& clock, const ConnectionSettings& settings,
                           std::uint64_t seed, Announce announce, Lower lower)
    : clock_(clock), settings_(settings), announce_(std::move(announce)), lower_(std::move(lower)),
      name_(new_store_name()), random_(seed) {}

WakeListener::~WakeListener() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable())
        thread_.join();
}

void WakeListener::interrupt() {
    const std::lock_guard lock(mutex_);
    ++generation_;
    changed_.notify_all();
}

std::string WakeListener::take_stale_announcement() {
    const std::lock_guard lock(mutex_);
    const base::SteadyTime now = clock_.steady_now();
    if (now >= announced_until_ || now < waited_until_ + std::chrono::seconds(1))
        return {};
    announced_until_ = {};
    return name_;
}

void WakeListener::wait(std::span<const std::string> queues, base::Duration patience) {
    std::unique_lock lock(mutex_);
    const std::uint64_t generation = generation_;
    // Workers that poll do not fall into step.
    const auto jittered =
        std::chrono::duration_cast<base::Duration>(patience * (1.0 - random_.unit() / 5));
    const base::SteadyTime deadline = clock_.steady_now() + jittered;
    if (!settings_.through_pooler) {
        start();
        if (announce_if_needed(lock, queues, patience))
            return;
    }
    clock_.wait_until(lock, changed_, deadline,
                      [&] { return stopping_ || generation_ != generation; });
    waited_until_ = clock_.steady_now();
}

bool WakeListener::announce_if_needed(std::unique_lock<std::mutex>& lock,
                                      std::span<const std::string> queues,
                                      base::Duration patience) {
    const std::string text = text_array({queues.begin(), queues.end()});
    const base::SteadyTime now = clock_.steady_now();
    const bool stands = text == announced_queues_ && now < announced_until_;
    if (!listening_ || (stands && now + patience < announced_until_))
        return false;
    const base::Duration life = announcement_life + patience;
    lock.unlock();
    const bool heard = announce_(name_, text, life);
    lock.lock();
    waited_until_ = clock_.steady_now();
    if (!heard)
        return false;
    announced_queues_ = text;
    announced_until_ = now + life - std::chrono::seconds(1);
    return !stands;
}

void WakeListener::start() {
    if (!thread_.joinable())
        thread_ = std::thread([this] { run(); });
}

bool WakeListener::pause(base::Duration by) {
    std::unique_lock lock(mutex_);
    return !clock_.wait_until(lock, changed_, clock_.steady_now() + by, [&] { return stopping_; });
}

void WakeListener::run() {
    do {
        try {
            listen_until_broken();
        } catch (const std::exception&) {
            // The server is away: those who wait poll, and we try again.
        }
        const std::lock_guard lock(mutex_);
        listening_ = false;
        announced_until_ = {};
    } while (pause(reconnect_pause));
}

void WakeListener::listen_until_broken() {
    Connection connection(settings_);
    {
        const auto watched = connection.watch(Pace::quick);
        connection.raw().listen("deadman_wake",
                                [this](pqxx::notification heard) { hear(heard.payload); });
    }
    {
        const std::lock_guard lock(mutex_);
        listening_ = true;
        ++generation_; // whatever was said while we did not listen
        changed_.notify_all();
    }
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            if (stopping_)
                return;
        }
        connection.raw().await_notification(0, look_for_stop_us);
        if (!connection.raw().is_open())
            return;
    }
}

void WakeListener::hear(std::string_view payload) {
    int queue = 0;
    std::int64_t ticket = 0;
    const char* const end = payload.data() + payload.size();
    const auto first = std::from_chars(payload.data(), end, queue);
    if (first.ec == std::errc{} && first.ptr != end &&
        std::from_chars(first.ptr + 1, end, ticket).ec == std::errc{})
        lower_(queue, ticket);
    interrupt();
}

} // namespace deadman::store::postgres

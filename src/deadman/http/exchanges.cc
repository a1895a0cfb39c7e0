#include "deadman/http/internal/exchanges.h"

namespace deadman::http {

bool Exchange::begin() {
    const std::lock_guard lock(mutex_);
    begun_ = static_cast<bool>(reply_);
    return begun_;
}

void Exchange::answer(const std::function<Response(bool begun)>& make) {
    Reply reply;
    bool begun = false;
    {
        const std::lock_guard lock(mutex_);
        reply.swap(reply_);
        begun = begun_;
    }
    if (reply)
        reply(make(begun));
}

void Exchanges::add(const ExchangePtr& exchange) {
    const std::lock_guard lock(mutex_);
    open_.emplace(exchange.get(), exchange);
}

void Exchanges::remove(const ExchangePtr& exchange) {
    const std::lock_guard lock(mutex_);
    open_.erase(exchange.get());
    if (open_.empty())
        emptied_.notify_all();
}

std::vector<ExchangePtr> Exchanges::older_than(base::SteadyTime time) const {
    const std::lock_guard lock(mutex_);
    std::vector<ExchangePtr> old;
    for (const auto& [key, exchange] : open_) {
        if (exchange->began() < time)
            old.push_back(exchange);
    }
    return old;
}

bool Exchanges::wait_until_empty(base::Clock& clock, base::Duration patience) {
    std::unique_lock lock(mutex_);
    return clock.wait_until(lock, emptied_, clock.steady_now() + patience,
                            [this] { return open_.empty(); });
}

} // namespace deadman::http

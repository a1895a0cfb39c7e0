#include "apps/deadman/store_backend.h"

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <format>
#include <utility>

namespace deadman::cli {
namespace {

using base::ErrorCode;

class StoreBackend final : public JobBackend {
  public:
    StoreBackend(std::unique_ptr<store::JobStore> store, std::string url)
        : store_(std::move(store)), url_(std::move(url)) {}

    std::string name() const override {
        return url_;
    }

    base::Result<base::TimePoint> now() override {
        return store_->now();
    }

    base::Result<std::vector<store::Enqueued>>
    enqueue(std::span<const domain::JobSpec> specs) override {
        return store_->enqueue(specs);
    }

    base::Result<std::optional<store::JobRecord>> find(domain::JobId id) override {
        return store_->find(id);
    }

    base::Result<std::vector<store::RunRecord>> runs(domain::JobId id) override {
        return store_->runs(id);
    }

    base::Result<ListedJobs> list(const store::JobFilter& filter,
                                  const std::string& cursor) override {
        store::JobFilter page = filter;
        if (!cursor.empty()) {
            DEADMAN_TRY(page.after, parse_cursor(cursor, filter));
        }
        DEADMAN_TRY(store::JobPage found, store_->list(page));
        return ListedJobs{.jobs = std::move(found.jobs),
                          .next_cursor = found.next ? format_cursor(*found.next, filter) : ""};
    }

    base::Result<store::CancelAnswer> cancel(domain::JobId id) override {
        return store_->cancel(id);
    }

    base::Status retry(domain::JobId id) override {
        return store_->retry(id);
    }

    base::Status remove(domain::JobId id) override {
        return store_->remove(id);
    }

    base::Result<std::vector<store::QueueRecord>> queues() override {
        return store_->queues();
    }

    base::Status pause_queue(const std::string& queue) override {
        DEADMAN_TRY_STATUS(domain::validate_queue_name(queue));
        return store_->pause_queue(queue);
    }

    base::Status resume_queue(const std::string& queue) override {
        DEADMAN_TRY_STATUS(domain::validate_queue_name(queue));
        return store_->resume_queue(queue);
    }

    base::Result<std::vector<store::SessionRecord>> sessions() override {
        return store_->sessions();
    }

  private:
    std::unique_ptr<store::JobStore> store_;
    std::string url_;
};

/// FNV-1a over what decides which jobs a filter finds and in what order.
std::uint64_t hash_of(const store::JobFilter& filter) {
    std::string text = filter.kind + '\n' + filter.queue;
    for (const domain::JobState state : filter.states)
        text += '\n' + std::string(domain::job_state_name(state));
    for (const auto& bound :
         {filter.finished_from, filter.finished_until, filter.created_from, filter.created_until})
        text += '\n' + (bound ? std::to_string(base::to_micros(*bound)) : "");
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

template <typename Number> bool read_hex(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    return error == std::errc{} && end == text.data() + text.size();
}

base::Error no_cursor(std::string_view why) {
    return base::fail(ErrorCode::invalid_argument, "cursor: " + std::string(why));
}

} // namespace

base::Result<std::unique_ptr<store::JobStore>>
open_existing_store(const std::string& url, base::Clock& clock,
                    const domain::PayloadLimits& payload_limits) {
    DEADMAN_TRY(const StoreUrl parsed, parse_store_url(url));
    if (parsed.kind == StoreUrl::Kind::memory || parsed.automatic)
        return base::fail(ErrorCode::invalid_argument,
                          "store URL: " + parsed.text() +
                              " would be a new, empty store; name the one that is meant");
    std::error_code ignored;
    // Where a log is left behind, opening says what that means.
    if (parsed.kind == StoreUrl::Kind::sqlite && !std::filesystem::exists(parsed.target, ignored) &&
        !std::filesystem::exists(parsed.target + "-wal", ignored))
        return base::fail(ErrorCode::not_found,
                          std::format("there is no store at '{}'; to make one: deadman migrate "
                                      "--store {}",
                                      parsed.target, parsed.text()));
    return open_store(parsed, clock, payload_limits);
}

std::unique_ptr<JobBackend> make_store_backend(std::unique_ptr<store::JobStore> store,
                                               std::string url) {
    return std::make_unique<StoreBackend>(std::move(store), std::move(url));
}

std::string format_cursor(const store::JobCursor& cursor, const store::JobFilter& filter) {
    return std::format("{:x}.{:x}.{:x}", base::to_micros(cursor.at), cursor.id.value,
                       hash_of(filter));
}

base::Result<store::JobCursor> parse_cursor(std::string_view text, const store::JobFilter& filter) {
    const std::size_t first = text.find('.');
    const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
    std::int64_t at = 0;
    std::uint64_t hash = 0;
    store::JobCursor cursor;
    if (second == std::string_view::npos || !read_hex(text.substr(0, first), at) ||
        !read_hex(text.substr(first + 1, second - first - 1), cursor.id.value) ||
        !read_hex(text.substr(second + 1), hash))
        return no_cursor("not one that `job list` gave");
    if (hash != hash_of(filter))
        return no_cursor("it belongs to a list with other filters");
    cursor.at = base::from_micros(at);
    return cursor;
}

} // namespace deadman::cli

#include "apps/deadman/http_backend.h"

#include <utility>

#include "deadman/base/clock.h"
#include "deadman/client/api_client.h"
#include "deadman/platform/paths.h"

namespace deadman::cli {
namespace {

using base::ErrorCode;

constexpr std::size_t longest_token_file = 64 << 10;

class HttpBackend final : public JobBackend {
  public:
    HttpBackend(std::unique_ptr<client::ApiClient> client, std::string url)
        : client_(std::move(client)), url_(std::move(url)) {}

    std::string name() const override {
        return url_;
    }

    bool is_unauthorised() const override {
        const int status = client_->last_failure().status;
        return status == 401 || status == 403;
    }

    /// The server does not tell; leases are shown to people, who see seconds.
    base::Result<base::TimePoint> now() override {
        return base::SystemClock().now();
    }

    base::Result<std::vector<store::Enqueued>>
    enqueue(std::span<const domain::JobSpec> specs) override {
        auto enqueued = client_->enqueue(specs);
        if (!enqueued)
            return explained(enqueued.error());
        return std::move(enqueued->jobs);
    }

    base::Result<std::optional<store::JobRecord>> find(domain::JobId id) override {
        auto found = client_->find(id);
        if (!found)
            return explained(found.error());
        if (!*found)
            return std::optional<store::JobRecord>();
        return std::optional(std::move((*found)->job));
    }

    base::Result<std::vector<store::RunRecord>> runs(domain::JobId id) override {
        auto found = client_->find(id);
        if (!found)
            return explained(found.error());
        if (!*found)
            return std::vector<store::RunRecord>();
        return std::move((*found)->runs);
    }

    base::Result<ListedJobs> list(const store::JobFilter& filter,
                                  const std::string& cursor) override {
        auto page = client_->list(filter, cursor);
        if (!page)
            return explained(page.error());
        return ListedJobs{.jobs = std::move(page->jobs),
                          .next_cursor = std::move(page->next_cursor)};
    }

    base::Result<store::CancelAnswer> cancel(domain::JobId id) override {
        return explained(client_->cancel(id));
    }

    base::Status retry(domain::JobId id) override {
        return explained(client_->retry(id));
    }

    base::Status remove(domain::JobId id) override {
        return explained(client_->remove(id));
    }

    base::Result<std::vector<store::QueueRecord>> queues() override {
        return explained(client_->queues());
    }

    base::Status pause_queue(const std::string& queue) override {
        return explained(client_->pause_queue(queue));
    }

    base::Status resume_queue(const std::string& queue) override {
        return explained(client_->resume_queue(queue));
    }

    base::Result<std::vector<store::SessionRecord>> sessions() override {
        return explained(client_->sessions());
    }

  private:
    base::Error explained(base::Error error) const {
        const client::Failure& failure = client_->last_failure();
        if (failure.unreachable)
            return base::fail(
                ErrorCode::unavailable,
                "no server answers at " + url_ +
                    "; to start one: deadman serve (or talk to a store: --store URL)");
        if (is_unauthorised())
            error.message += "; the server's token is given by --token-file";
        return error;
    }

    template <typename Value> base::Result<Value> explained(base::Result<Value> result) const {
        if (result)
            return result;
        return explained(std::move(result).error());
    }

    std::unique_ptr<client::ApiClient> client_;
    std::string url_;
};

base::Result<std::string> read_token(const std::string& file) {
    auto text = platform::read_file(file, longest_token_file);
    if (!text)
        return base::fail(ErrorCode::invalid_argument,
                          "--token-file: cannot read '" + file + "': " + text.error().message);
    const std::size_t end = text->find_last_not_of(" \t\r\n");
    text->resize(end == std::string::npos ? 0 : end + 1);
    return text;
}

} // namespace

base::Result<std::unique_ptr<JobBackend>> make_http_backend(const std::string& url,
                                                            const std::string& token_file) {
    client::ClientOptions options;
    options.url = url;
    if (!token_file.empty()) {
        DEADMAN_TRY(options.token, read_token(token_file));
    }
    DEADMAN_TRY(auto client, client::ApiClient::create(options));
    return std::unique_ptr<JobBackend>(std::make_unique<HttpBackend>(std::move(client), url));
}

} // namespace deadman::cli

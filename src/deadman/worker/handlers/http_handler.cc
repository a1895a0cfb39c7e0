#include "deadman/worker/handlers/http_handler.h"

#include <algorithm>

#include "deadman/base/time_text.h"
#include "deadman/domain/payload.h"
#include "deadman/worker/handlers/idempotency_key.h"
#include "deadman/worker/handlers/internal/http_exchange.h"
#include "deadman/worker/handlers/webhook_signature.h"

namespace deadman::worker {
namespace {

using domain::Answer;
using domain::AnswerKind;

std::vector<std::string> make_headers(const HttpOptions& options, const RunContext& context,
                                      base::SteadyTime deadline, const base::Clock& clock) {
    const store::Claimed& job = context.claimed();
    const base::TimePoint now = clock.now();
    const std::int64_t timestamp = base::to_micros(now) / 1'000'000;
    const std::string key = idempotency_key(job.run.job);
    std::vector<std::string> headers{
        "Content-Type: application/json",
        "User-Agent: deadman",
        "Expect:", // no waiting for 100 Continue
        "Idempotency-Key: \"" + key + "\"",
        "Deadman-Job-Id: " + std::to_string(job.run.job.value),
        "Deadman-Kind: " + job.kind,
        "Deadman-Attempt: " + std::to_string(context.attempt()),
        "Deadman-Fence: " + std::to_string(job.run.fence.value),
        "Deadman-Run-Key: " + context.run_key(),
        "Deadman-Deadline: " + base::format_rfc3339(now + (deadline - clock.steady_now())),
        "webhook-id: " + key,
        "webhook-timestamp: " + std::to_string(timestamp),
    };
    if (!options.secret.empty())
        headers.push_back("webhook-signature: " +
                          sign_webhook(options.secret, key, timestamp, job.payload));
    return headers;
}

Answer make_answer(AnswerKind kind, std::string_view reason, std::string_view message) {
    Answer answer;
    answer.kind = kind;
    answer.reason = reason;
    answer.message = domain::clean_text(message, 4 << 10);
    return answer;
}

Answer answer_of(const base::Error& error) {
    switch (error.code) {
    case base::ErrorCode::invalid_argument:
        return make_answer(AnswerKind::failed, "http_refused", error.message);
    case base::ErrorCode::cancelled:
        return make_answer(AnswerKind::error, "stopped", error.message);
    default:
        return make_answer(AnswerKind::error, "http_unreachable", error.message);
    }
}

bool keeps_the_method(int status) {
    return status == 307 || status == 308;
}

bool is_downgrade(std::string_view from, std::string_view to) {
    return from.starts_with("https:") && !to.starts_with("https:");
}

/// Follows redirects for one run; every hop gets what is left of the time.
class Delivery {
  public:
    Delivery(const HttpOptions& options, RunContext& context, const base::Clock& clock)
        : options_(options), clock_(clock),
          deadline_(std::min(context.deadline(), clock.steady_now() + options.timeout)) {
        request_.url = options.url;
        request_.headers = make_headers(options, context, deadline_, clock);
        request_.body = context.claimed().payload;
        request_.connect_timeout = options.connect_timeout;
        request_.allow_private_addresses = options.allow_private_addresses;
        request_.max_body_bytes = options.max_output_bytes;
        request_.stop = context.stop_token();
    }

    Answer run() {
        for (int hops = 0; hops <= options_.max_redirects; ++hops) {
            request_.timeout = deadline_ - clock_.steady_now();
            if (request_.timeout <= base::Duration::zero())
                return make_answer(AnswerKind::error, domain::reason_timeout, "no answer in time");
            const auto http = internal::post(request_);
            if (!http)
                return answer_of(http.error());
            if (http->status < 300 || http->status >= 400 || http->redirect_to.empty())
                return internal::answer_of(*http);
            if (!keeps_the_method(http->status))
                return make_answer(AnswerKind::failed, "http_redirect",
                                   "HTTP " + std::to_string(http->status) +
                                       " would turn the POST into a GET");
            if (is_downgrade(request_.url, http->redirect_to))
                return make_answer(AnswerKind::failed, "http_redirect",
                                   "a redirect from https to http is not followed");
            request_.url = http->redirect_to;
        }
        return make_answer(AnswerKind::failed, "http_redirect", "too many redirects");
    }

  private:
    const HttpOptions& options_;
    const base::Clock& clock_;
    base::SteadyTime deadline_;
    internal::HttpRequest request_;
};

} // namespace

Handler make_http_handler(HttpOptions options, const base::Clock& clock) {
    return [options = std::move(options), &clock](RunContext& context) {
        return Delivery(options, context, clock).run();
    };
}

} // namespace deadman::worker

// What the pure parts cost, a call each: nothing here waits for anything.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "deadman/base/random.h"
#include "deadman/base/time_text.h"
#include "deadman/domain/job.h"
#include "deadman/domain/lease_terms.h"
#include "deadman/domain/outcome.h"
#include "deadman/domain/payload.h"
#include "deadman/domain/retry_policy.h"
#include "deadman/worker/worker_core.h"

namespace deadman {
namespace {

using namespace std::chrono_literals;

std::string payload_of(std::int64_t bytes) {
    std::string text = R"({"n":12345,"list":[1,2,3],"name":"of a job","pad":")";
    text.append(static_cast<std::size_t>(std::max<std::int64_t>(0, bytes - 54)), 'x');
    return text + "\"}";
}

void retry_delay(benchmark::State& state) {
    const domain::RetryPolicy policy;
    base::Random random(1);
    int attempt = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(policy.delay(++attempt % 20 + 1, random.unit()));
}

BENCHMARK(retry_delay);

void retry_policy_text(benchmark::State& state) {
    const std::string text = domain::format_retry_policy({});
    for (auto _ : state)
        benchmark::DoNotOptimize(domain::parse_retry_policy(text));
}

BENCHMARK(retry_policy_text);

void payload_check(benchmark::State& state) {
    const std::string payload = payload_of(state.range(0));
    for (auto _ : state)
        benchmark::DoNotOptimize(domain::validate_payload(payload));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(payload.size()));
}

BENCHMARK(payload_check)->Arg(100)->Arg(10'000)->Arg(1'000'000);

void spec_check(benchmark::State& state) {
    domain::JobSpec spec;
    spec.kind = "mail.send";
    for (auto _ : state)
        benchmark::DoNotOptimize(domain::validate_spec(spec));
}

BENCHMARK(spec_check);

void fingerprint(benchmark::State& state) {
    domain::JobSpec spec;
    spec.kind = "mail.send";
    spec.payload = payload_of(100);
    spec.idempotency_key = "order-17";
    for (auto _ : state)
        benchmark::DoNotOptimize(domain::fingerprint(spec));
}

BENCHMARK(fingerprint);

void time_text(benchmark::State& state) {
    std::int64_t micros = 1'700'000'000'000'000;
    for (auto _ : state)
        benchmark::DoNotOptimize(base::format_rfc3339(base::from_micros(micros += 1'234'567)));
}

BENCHMARK(time_text);

void lease_arithmetic(benchmark::State& state) {
    const domain::LeaseTerms terms;
    for (auto _ : state) {
        benchmark::DoNotOptimize(domain::cancel_after(terms));
        benchmark::DoNotOptimize(domain::leave_after(terms));
        benchmark::DoNotOptimize(domain::validate_terms(terms));
    }
}

BENCHMARK(lease_arithmetic);

void outcome_decision(benchmark::State& state) {
    const domain::Answer answer{.kind = domain::AnswerKind::error, .reason = "error"};
    int attempts = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(domain::decide(answer, ++attempts % 20, 20, false));
}

BENCHMARK(outcome_decision);

/// A worker whose handlers end at once and whose store answers at once: what deciding costs for
/// each run, from its claim to its recorded end.
class InstantWorker {
  public:
    explicit InstantWorker(int batch) : core_(options(batch)) {
        carry_out(core_.start(now_));
    }

    std::int64_t ended() const {
        return ended_;
    }

    /// One claim's worth of work.
    void round() {
        while (!asked_) {
            now_ += 1ms;
            carry_out(core_.tick(now_));
        }
        const worker::Claim claim = *std::exchange(asked_, std::nullopt);
        std::vector<store::Claimed> claimed(
            claim.request.suspect ? 0 : static_cast<std::size_t>(claim.request.max));
        ++fence_;
        for (store::Claimed& job : claimed) {
            job.run = {{++last_job_}, {fence_}};
            job.kind = "bench";
        }
        carry_out(core_.claim_answered(now_, claim.request.claim_no, std::move(claimed)));
    }

  private:
    static worker::WorkerOptions options(int batch) {
        worker::WorkerOptions options;
        options.name = "bench";
        options.kinds = {"bench"};
        options.slots = 4;
        options.prefetch = batch;
        options.max_batch = batch;
        options.seed = 1;
        return worker::resolved(options);
    }

    void carry_out(worker::Actions actions) {
        for (std::size_t index = 0; index < actions.size(); ++index) {
            worker::Actions more =
                std::visit([this](const auto& action) { return answer(action); }, actions[index]);
            actions.insert(actions.end(), std::make_move_iterator(more.begin()),
                           std::make_move_iterator(more.end()));
        }
    }

    template <typename Other> worker::Actions answer(const Other&) {
        return {};
    }

    worker::Actions answer(const worker::Register&) {
        return core_.registered(now_, now_,
                                store::Session{.key = {.id = {1}, .key = "key"},
                                               .renew_every = 1h,
                                               .cancel_after = 2h,
                                               .leave_after = 3h});
    }

    worker::Actions answer(const worker::Renew& renew) {
        return core_.renewed(now_, renew.renew_no, now_, store::Renewal{});
    }

    /// Answered by the next round: or there would be no end to it.
    worker::Actions answer(const worker::Claim& claim) {
        asked_ = claim;
        return {};
    }

    worker::Actions answer(const worker::Idle&) {
        return core_.woken(now_);
    }

    worker::Actions answer(const worker::StartRun& start) {
        return core_.run_finished(now_, start.claimed.run, {}, worker::TransactionOutcome::none);
    }

    worker::Actions answer(const worker::Complete& complete) {
        ended_ += static_cast<std::int64_t>(complete.ends.size());
        return core_.completed(
            now_, complete.batch_no,
            std::vector<domain::Verdict>(complete.ends.size(), domain::Verdict::ok));
    }

    worker::WorkerCore core_;
    base::SteadyTime now_{1h};
    std::optional<worker::Claim> asked_;
    std::int64_t last_job_ = 0;
    std::int64_t fence_ = 0;
    std::int64_t ended_ = 0;
};

void worker_core_run(benchmark::State& state) {
    InstantWorker worker(static_cast<int>(state.range(0)));
    for (auto _ : state)
        worker.round();
    state.SetItemsProcessed(worker.ended());
}

BENCHMARK(worker_core_run)->Arg(10)->Arg(1'000);

} // namespace
} // namespace deadman

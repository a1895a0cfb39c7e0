#include "apps/deadman/bench/depth_bench.h"

#include <algorithm>
#include <format>

#include "apps/deadman/bench/bench_jobs.h"
#include "apps/deadman/bench/deep_fill.h"
#include "apps/deadman/bench/direct_drain.h"
#include "apps/deadman/bench/plans.h"
#include "apps/deadman/bench/returning.h"
#include "apps/deadman/bench/samples.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr int shallow = 1'000;
constexpr int warm_up = 10; // claims that are not counted
constexpr base::Duration much_later = std::chrono::hours(24);

base::Result<Spread> time_claims(const Bench& bench, const std::string& queue,
                                 const DepthBench& options, bool refill) {
    DirectDrain drain(bench.target.store(), bench.clock, queue, options.batch);
    DEADMAN_TRY_STATUS(drain.open());
    const domain::JobSpec job = bench_job(noop_kind, queue, options.payload_bytes);
    std::vector<base::Duration> times;
    int left = 0;
    for (int claim = -warm_up; claim < options.claims; ++claim) {
        if (refill && left < options.batch) {
            DEADMAN_TRY_STATUS(fill(bench, job, shallow - left));
            left = shallow;
        }
        DEADMAN_TRY(const std::int64_t ended, drain.step());
        if (ended != options.batch)
            return base::fail(ErrorCode::internal,
                              std::format("a claim of {} gave {}", options.batch, ended));
        left -= options.batch;
        if (claim >= 0)
            times.push_back(drain.last_claim());
    }
    DEADMAN_TRY_STATUS(drain.close());
    return spread_of(std::move(times));
}

struct Sizes {
    double waiting = 0; // bytes a job
    double later = 0;
    double written_once = 0; // of a waiting job, what stays when it has ended
};

base::Result<Sizes> fill_deep(const Bench& bench, const std::string& queue,
                              const DepthBench& options) {
    const domain::JobSpec job = bench_job(noop_kind, queue, options.payload_bytes);
    domain::JobSpec later = job;
    later.delay = much_later;
    const int later_jobs = std::max(1, options.jobs / 10);
    DEADMAN_TRY(const double before, stored_bytes(bench.target));
    DEADMAN_TRY(const double lasting_before, lasting_bytes(bench.target));
    DEADMAN_TRY_STATUS(deep_fill(bench, job, FillTo::ready, options.jobs));
    DEADMAN_TRY(const double between, stored_bytes(bench.target));
    DEADMAN_TRY(const double lasting, lasting_bytes(bench.target));
    DEADMAN_TRY_STATUS(deep_fill(bench, later, FillTo::later, later_jobs));
    DEADMAN_TRY(const double after, stored_bytes(bench.target));
    return Sizes{.waiting = (between - before) / options.jobs,
                 .later = (after - between) / later_jobs,
                 .written_once = (lasting - lasting_before) / options.jobs};
}

} // namespace

base::Result<Measurement> measure_depth(const Bench& bench, const DepthBench& options) {
    if (bench.target.is_private())
        return base::fail(ErrorCode::invalid_argument, "depth: needs a store with SQL");
    if (options.batch > shallow)
        return base::fail(ErrorCode::invalid_argument,
                          std::format("--batch: at most {} here", shallow));
    // What the worker does not drain must be enough for the claims.
    if (options.jobs < 2 * (options.claims + warm_up) * options.batch)
        return base::fail(ErrorCode::invalid_argument,
                          std::format("--jobs: at least {} for so many claims",
                                      2 * (options.claims + warm_up) * options.batch));
    const std::string deep_queue = new_queue();
    DEADMAN_TRY(const Spread at_shallow, time_claims(bench, new_queue(), options, true));
    DEADMAN_TRY(const Sizes sizes, fill_deep(bench, deep_queue, options));
    DEADMAN_TRY_STATUS(bench.target.settle());
    bench.progress.show("claiming with all of them waiting");
    DEADMAN_TRY(const Spread at_depth, time_claims(bench, deep_queue, options, false));
    DEADMAN_TRY(const PlanReport plans, look_at_plans(bench, deep_queue, options.batch));
    DEADMAN_TRY(const Returns returns, time_returns(bench, deep_queue));
    const double ratio = at_shallow.p50_ms > 0 ? at_depth.p50_ms / at_shallow.p50_ms : 0;
    const double finished = sizes.written_once + returns.bytes_a_finished_job;
    Measurement measured;
    measured.json.number("jobs", options.jobs)
        .number("later", options.jobs / 10)
        .number("batch", options.batch)
        .number("payload_bytes", options.payload_bytes)
        .raw("claim_shallow", spread_json(at_shallow))
        .raw("claim_deep", spread_json(at_depth))
        .raw("claim_cost_ratio", decimal(ratio, 3))
        .raw("retried_to_start", spread_json(returns.retried))
        .raw("lapsed_to_start", spread_json(returns.lapsed))
        .raw("bytes_per_waiting_job", decimal(sizes.waiting, 0))
        .raw("bytes_per_later_job", decimal(sizes.later, 0))
        .raw("bytes_per_finished_job", decimal(finished, 0));
    measured.line(std::format("claims of {} with {} waiting:  {}", options.batch,
                              thousands(shallow), spread_text(at_shallow)));
    measured.line(std::format("claims of {} with {} waiting and {} due later:  {}", options.batch,
                              thousands(options.jobs), thousands(options.jobs / 10.0),
                              spread_text(at_depth)));
    measured.line(std::format("claim_cost_ratio {:.2f}", ratio));
    measured.line("claimable again to start, retried:  " + spread_text(returns.retried));
    measured.line("claimable again to start, lapsed:   " + spread_text(returns.lapsed));
    measured.line(std::format("disk: {:.0f} bytes a waiting job, {:.0f} a later one, {:.0f} a "
                              "finished one",
                              sizes.waiting, sizes.later, finished));
    add_plans(plans, measured);
    return measured;
}

} // namespace deadman::bench

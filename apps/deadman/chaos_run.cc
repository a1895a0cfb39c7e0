#include "apps/deadman/chaos_run.h"

#include <cstdio>

#include "apps/deadman/option_values.h"
#include "apps/deadman/progress_line.h"
#include "apps/deadman/verb.h"
#include "deadman/base/random.h"

namespace deadman {
namespace {

std::string describe(const chaos::Progress& progress) {
    const double share = progress.ended_runs == 0 ? 0
                                                  : 100.0 * static_cast<double>(progress.lapsed) /
                                                        static_cast<double>(progress.ended_runs);
    char text[160];
    std::snprintf(text, sizeof text,
                  "%lld of %lld succeeded   %lld runs lapsed (%.1f %%)   %lld workers killed   "
                  "%lld stopped   %lld s",
                  static_cast<long long>(progress.succeeded), static_cast<long long>(progress.jobs),
                  static_cast<long long>(progress.lapsed), share,
                  static_cast<long long>(progress.kills), static_cast<long long>(progress.stopped),
                  static_cast<long long>(progress.elapsed / std::chrono::seconds(1)));
    return text;
}

} // namespace

base::Result<std::unique_ptr<StopOnSignals>> StopOnSignals::watch() {
    auto made = std::make_unique<StopOnSignals>();
    DEADMAN_TRY(made->signals_, platform::SignalWatch::for_termination(
                                    [self = made.get()](int) { self->source_.request_stop(); }));
    return made;
}

base::Result<chaos::Report> run_with_progress(const chaos::HarnessOptions& options,
                                              const std::stop_token& stop) {
    base::SystemClock clock;
    ProgressLine line(clock);
    return chaos::run_harness(
        options, [&line](const chaos::Progress& progress) { line.show(describe(progress)); }, stop);
}

std::string fresh_queue(const std::string& prefix) {
    return prefix + "-" + base::random_hex(4);
}

int report_failure(const base::Error& error) {
    print_error(error);
    switch (error.code) {
    case base::ErrorCode::cancelled:
        return exit_interrupted;
    case base::ErrorCode::invalid_argument:
        return exit_usage;
    case base::ErrorCode::unavailable:
        return exit_unavailable;
    default:
        return exit_error;
    }
}

} // namespace deadman

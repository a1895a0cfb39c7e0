#pragma once
// What `chaos run` and `demo` have in common: a harness that can be interrupted, with a progress
// line.

#include <memory>
#include <optional>
#include <stop_token>

#include "apps/deadman/chaos/harness.h"
#include "deadman/platform/signals.h"

namespace deadman {

/// Stops when a signal asks this process to leave. Made before anything that is to be removed in
/// the end, so that it is.
class StopOnSignals {
  public:
    static base::Result<std::unique_ptr<StopOnSignals>> watch();

    std::stop_token token() const {
        return source_.get_token();
    }

  private:
    std::stop_source source_;
    std::optional<platform::SignalWatch> signals_;
};

base::Result<chaos::Report> run_with_progress(const chaos::HarnessOptions& options,
                                              const std::stop_token& stop);

/// A queue name that no other run uses.
std::string fresh_queue(const std::string& prefix);

/// The exit code for what the harness could not do; says it.
int report_failure(const base::Error& error);

} // namespace deadman

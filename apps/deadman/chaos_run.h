#pragma once
// What `chaos run` and `demo` have in common: a harness that can be interrupted, with a progress
// line.

#include "apps/deadman/chaos/harness.h"

namespace deadman {

base::Result<chaos::Report> run_with_progress(const chaos::HarnessOptions& options);

/// A queue name that no other run uses.
std::string fresh_queue(const std::string& prefix);

/// The exit code for what the harness could not do; says it.
int report_failure(const base::Error& error);

} // namespace deadman

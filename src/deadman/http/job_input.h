#pragma once
// What a client sends to enqueue: JSON in, JobSpecs out, or a Problem that names each wrong place.
//
// Contract:      the payload is taken out byte for byte. Unknown and repeated members are refused.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/domain/job.h"
#include "deadman/domain/payload.h"
#include "deadman/http/checked.h"

namespace deadman::http {

inline constexpr std::size_t max_batch_jobs = 10'000;

Checked<domain::JobSpec> read_job(std::string_view body, const domain::PayloadLimits& limits);

/// {"jobs":[...]}, 1 to max_batch_jobs of them.
Checked<std::vector<domain::JobSpec>> read_batch(std::string_view body,
                                                 const domain::PayloadLimits& limits);

/// The value of the header, a quoted structured-field string or bare. REQUIRES: not empty.
Checked<std::string> read_idempotency_key(std::string_view header);

/// Binds the batch to the key of its request: each job that has no key of its own gets one.
void bind_to_key(std::vector<domain::JobSpec>& jobs, const std::string& key);

} // namespace deadman::http

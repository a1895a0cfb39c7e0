#pragma once
// The jobs of the benchmarks: their payloads, and what their handlers do.
//
// Thread-safety: free functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "deadman/base/time.h"
#include "deadman/domain/job.h"

namespace deadman::bench {

inline constexpr const char* noop_kind = "bench.noop";     // nothing
inline constexpr const char* timed_kind = "bench.timed";   // its start is noted by its number
inline constexpr const char* effect_kind = "bench.effect"; // one insert, in the run's transaction
inline constexpr const char* mixed_kind = "bench.mixed";   // as its payload says

inline constexpr const char* effect_table = "bench_effect";

/// What a job of mixed_kind does when it first runs.
enum class Turn { none, retry, snooze };

struct BenchPayload {
    std::int64_t number = -1;
    std::int64_t sent_us = 0; // when it was enqueued or due; 0: nobody asks
    Turn turn = Turn::none;
};

/// JSON of `bytes` bytes, or as many as it takes.
std::string write_payload(const BenchPayload& payload, int bytes);

/// REQUIRES: written by write_payload.
BenchPayload read_payload(std::string_view text);

domain::JobSpec bench_job(const char* kind, const std::string& queue, int payload_bytes);

} // namespace deadman::bench

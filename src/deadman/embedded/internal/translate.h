#pragma once
// Between the public types of libdeadman and those of the modules behind it. Pure.

#include <utility>

#include "deadman/base/result.h"
#include "deadman/deadman.h"
#include "deadman/domain/job.h"

namespace deadman::embedded {

ErrorCode translate(base::ErrorCode code);
JobState translate(domain::JobState state);
domain::JobSpec translate(const Job& job);

[[noreturn]] inline void raise(const base::Error& error) {
    throw Error(translate(error.code), error.message);
}

/// The value, or the error thrown.
template <typename T> T value_or_throw(base::Result<T> result) {
    if (!result)
        raise(result.error());
    return std::move(*result);
}

inline void throw_if_failed(const base::Status& status) {
    if (!status)
        raise(status.error());
}

} // namespace deadman::embedded

#pragma once
// StoreUrl: which store, as users write it: sqlite:PATH, postgresql://..., memory:. And opening
// one.
//
// Errors:        invalid_argument: not a store URL, or one that this build does not have.

#include <memory>
#include <string>
#include <string_view>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/domain/payload.h"
#include "deadman/store/job_store.h"

namespace deadman::wiring {

struct StoreUrl {
    enum class Kind { memory, sqlite, postgres };

    Kind kind = Kind::memory;
    std::string target;     // sqlite: the file; postgres: the whole URL
    bool automatic = false; // sqlite:auto, postgres:auto: a throwaway store, see ThrowawayStore

    /// As the user wrote it, for reading back by parse_store_url. May hold a password.
    std::string text() const;

    /// For logs and reports: without the password.
    std::string redacted() const;
};

base::Result<StoreUrl> parse_store_url(std::string_view text);

/// Opens the store, which takes no larger payloads than these; its schema is not touched.
/// REQUIRES: not automatic.
base::Result<std::unique_ptr<store::JobStore>>
open_store(const StoreUrl& url, base::Clock& clock,
           const domain::PayloadLimits& payload_limits = {});

} // namespace deadman::wiring

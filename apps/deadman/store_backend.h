#pragma once
// A JobBackend that is a store, opened by this process.

#include <memory>
#include <string>

#include "apps/deadman/backend.h"
#include "apps/deadman/store_url.h"
#include "deadman/base/clock.h"
#include "deadman/store/job_store.h"

namespace deadman::cli {

/// A store that is there already. not_found: a SQLite file that does not exist, which opening would
/// make. invalid_argument: memory: and throwaway URLs, which hold nothing that another process
/// made.
base::Result<std::unique_ptr<store::JobStore>>
open_existing_store(const std::string& url, base::Clock& clock,
                    const domain::PayloadLimits& payload_limits = {});

/// `url` for messages.
std::unique_ptr<JobBackend> make_store_backend(std::unique_ptr<store::JobStore> store,
                                               std::string url);

/// A page's end as text, bound to its filter; invalid_argument for another filter's.
std::string format_cursor(const store::JobCursor& cursor, const store::JobFilter& filter);
base::Result<store::JobCursor> parse_cursor(std::string_view text, const store::JobFilter& filter);

} // namespace deadman::cli

#pragma once
// Listing jobs: the query of GET /v1/jobs as a JobFilter, and its cursor.
//
// Contract:      a cursor holds where the page ended and the bounds that its words stood for when
// the
//                listing began, so that later pages go on with the same window. It is signed
//                together with the filter: with another filter, or changed, it is refused.

#include <optional>
#include <string>
#include <string_view>

#include "deadman/http/checked.h"
#include "deadman/store/job_query.h"

namespace deadman::http {

struct JobListing {
    store::JobFilter filter;
    std::string filter_text; // what the cursor is bound to
};

class JobListings {
  public:
    /// Servers with the same key understand each other's cursors.
    explicit JobListings(std::string signing_key) : signing_key_(std::move(signing_key)) {}

    /// `now`: what the words of time are relative to.
    Checked<JobListing> read(std::string_view query, base::TimePoint now) const;

    std::string cursor(const JobListing& listing, const store::JobCursor& next) const;

  private:
    std::string signature(std::string_view position, std::string_view filter_text) const;
    Checked<void> resume(JobListing& listing, std::string_view cursor) const;

    std::string signing_key_;
};

} // namespace deadman::http

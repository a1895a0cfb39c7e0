#pragma once
// Retention: forgets finished jobs past their time and makes partitions ahead of theirs.
//
// Whole partitions go wherever that is enough; rows go one by one where the retention is shorter
// than a few partitions, or where a partition is so small that it would keep jobs' payloads for
// long.

#include <string>

#include "deadman/base/result.h"
#include "deadman/store/maintenance.h"
#include "deadman/store/postgres/internal/connection.h"

namespace deadman::store::postgres {

class Store;

class Retention {
  public:
    explicit Retention(Store& store) : store_(store) {}

    base::Status run(const UpkeepRequest& request, UpkeepReport& report);

  private:
    base::Status look_at_partitions(const UpkeepRequest& request, std::int64_t cutoff_us,
                                    UpkeepReport& report);
    base::Status drop_old(std::string_view parent, std::int64_t cutoff_us,
                          const UpkeepRequest& request, UpkeepReport& report);
    base::Status give_up_job_ranges();
    base::Status drop_leaving();
    base::Result<std::int64_t> prune_rows(std::int64_t cutoff_us, int batch);
    void drop_partition(const std::string& parent, const std::string& name,
                        const std::string& step);

    Store& store_;
    bool looked_ = false;
    base::SteadyTime looked_at_{};
    std::int64_t kept_after_ = 0; // where the look through `job_kept` goes on
};

} // namespace deadman::store::postgres

#include <algorithm>
#include <limits>

#include "deadman/store/postgres/internal/array_text.h"
#include "deadman/store/postgres/internal/job_row.h"
#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {

using base::ErrorCode;
using domain::JobState;

namespace {

constexpr int max_page = 1'000;
// A filter that matches little must not walk the whole store in one call: the page then ends early,
// and `next` goes on.
constexpr int most_chunks = 20;
constexpr int smallest_chunk = 200;

const Statement describe_statement{"describe", "select * from deadman.describe($1)"};
const Statement runs_statement{"runs_of", "select * from deadman.runs_of($1)"};
const Statement outstanding_statement{"count_outstanding", "select deadman.count_outstanding()",
                                      Pace::slow};
const Statement queues_statement{"queue_counts", "select * from deadman.queue_counts()",
                                 Pace::slow};
const Statement unfinished_statement{
    "unfinished", "select * from deadman.unfinished($1, $2, $3, $4, $5, $6)", Pace::slow};
const Statement by_id_statement{
    "jobs_below",
    "(select id from deadman.job where id < $1 order by id desc limit $2) union "
    "(select id from deadman.job_kept where id < $1 order by id desc limit $2) "
    "order by id desc limit $2",
    Pace::slow};
const Statement finished_statement{
    "finished_before", "select * from deadman.finished_before($1, $2, $3, $4, $5, $6)", Pace::slow};

bool lists_finished_only(const JobFilter& filter) {
    return filter.finished_from || filter.finished_until ||
           (!filter.states.empty() && std::ranges::all_of(filter.states, domain::is_terminal));
}

bool wants(const JobFilter& filter, JobState state) {
    return filter.states.empty() || std::ranges::find(filter.states, state) != filter.states.end();
}

bool matches(const JobFilter& filter, const JobRecord& job) {
    if (!wants(filter, job.state))
        return false;
    if (!filter.kind.empty() && filter.kind != job.kind)
        return false;
    if (!filter.queue.empty() && filter.queue != job.queue)
        return false;
    if (filter.finished_from && (!job.finished_at || *job.finished_at < *filter.finished_from))
        return false;
    if (filter.finished_until && (!job.finished_at || *job.finished_at >= *filter.finished_until))
        return false;
    if (filter.created_from && job.created_at < *filter.created_from)
        return false;
    return !filter.created_until || job.created_at < *filter.created_until;
}

std::vector<std::int64_t> first_column(const pqxx::result& rows) {
    std::vector<std::int64_t> ids;
    ids.reserve(static_cast<std::size_t>(rows.size()));
    for (const auto& row : rows)
        ids.push_back(row[0].as<std::int64_t>());
    return ids;
}

/// States that a finished job may be listed in, as the numbers of `done`.
std::string finished_states(const JobFilter& filter) {
    ArrayText numbers;
    int number = 1;
    for (const JobState state :
         {JobState::succeeded, JobState::failed, JobState::cancelled, JobState::expired}) {
        if (wants(filter, state))
            numbers.add(number);
        ++number;
    }
    return numbers.take();
}

} // namespace

base::Result<std::vector<JobRecord>> Store::describe(const std::vector<std::int64_t>& ids) {
    ArrayText wanted;
    for (const std::int64_t id : ids)
        wanted.add(id);
    DEADMAN_TRY(const pqxx::result rows, query(describe_statement, {wanted.take()}, Sent::reading));
    std::vector<JobRecord> records;
    records.reserve(static_cast<std::size_t>(rows.size()));
    for (const auto& row : rows) {
        DEADMAN_TRY(JobRecord record, read_job(row));
        records.push_back(std::move(record));
    }
    return records;
}

base::Result<std::optional<JobRecord>> Store::find(domain::JobId id) {
    DEADMAN_TRY(auto records, describe({id.value}));
    std::optional<JobRecord> found;
    if (!records.empty())
        found = std::move(records.front());
    return found;
}

base::Result<std::vector<RunRecord>> Store::runs(domain::JobId id) {
    DEADMAN_TRY(const pqxx::result rows, query(runs_statement, {id.value}, Sent::reading));
    std::vector<RunRecord> records;
    for (const auto& row : rows)
        records.push_back(read_run(row));
    return records;
}

base::Result<std::int64_t> Store::count_outstanding() {
    DEADMAN_TRY(const pqxx::result answer, query(outstanding_statement, {}, Sent::reading));
    return answer[0][0].as<std::int64_t>();
}

base::Result<std::vector<QueueRecord>> Store::queues() {
    DEADMAN_TRY(const pqxx::result rows, query(queues_statement, {}, Sent::reading));
    std::vector<QueueRecord> records;
    for (const auto& row : rows) {
        QueueRecord record;
        record.name = row[0].as<std::string>();
        record.paused = row[1].as<bool>();
        record.pending = row[2].as<std::int64_t>();
        record.scheduled = row[3].as<std::int64_t>();
        record.running = row[4].as<std::int64_t>();
        if (!row[5].is_null())
            record.oldest_pending = base::from_micros(row[5].as<std::int64_t>());
        records.push_back(std::move(record));
    }
    return records;
}

base::Result<JobPage> Store::list(const JobFilter& filter) {
    if (filter.limit < 1 || filter.limit > max_page)
        return base::fail(ErrorCode::invalid_argument, "limit: must be from 1 to 1000");
    return lists_finished_only(filter) ? list_finished(filter) : list_by_id(filter);
}

base::Result<JobPage> Store::list_by_id(const JobFilter& filter) {
    const int chunk = std::max(filter.limit, smallest_chunk);
    const bool unfinished_only =
        !filter.states.empty() && std::ranges::none_of(filter.states, domain::is_terminal);
    std::int64_t below =
        filter.after ? filter.after->id.value : std::numeric_limits<std::int64_t>::max();
    JobPage page;
    for (int looked = 0; looked < most_chunks; ++looked) {
        DEADMAN_TRY(const pqxx::result rows,
                    unfinished_only ? query(unfinished_statement,
                                            {wants(filter, JobState::pending),
                                             wants(filter, JobState::scheduled),
                                             wants(filter, JobState::running),
                                             null_if_empty(filter.queue), below, chunk},
                                            Sent::reading)
                                    : query(by_id_statement, {below, chunk}, Sent::reading));
        const std::vector<std::int64_t> ids = first_column(rows);
        DEADMAN_TRY(auto records, describe(ids));
        std::ranges::sort(records, std::greater{}, &JobRecord::id);
        for (JobRecord& record : records) {
            if (!matches(filter, record))
                continue;
            page.next = JobCursor{{}, record.id};
            page.jobs.push_back(std::move(record));
            if (page.jobs.size() == static_cast<std::size_t>(filter.limit))
                return page;
        }
        if (ids.size() < static_cast<std::size_t>(chunk)) {
            page.next.reset();
            return page;
        }
        below = ids.back();
    }
    page.next = JobCursor{{}, {below}};
    return page;
}

base::Result<JobPage> Store::list_finished(const JobFilter& filter) {
    const int chunk = std::max(filter.limit, smallest_chunk);
    const std::string states = finished_states(filter);
    const std::int64_t from = filter.finished_from ? base::to_micros(*filter.finished_from) : 0;
    std::int64_t at = base::to_micros(domain::latest_time);
    std::int64_t id = std::numeric_limits<std::int64_t>::max();
    if (filter.finished_until) { // everything before it, whatever its id
        at = base::to_micros(*filter.finished_until);
        id = 0;
    }
    if (filter.after &&
        std::pair(base::to_micros(filter.after->at), filter.after->id.value) < std::pair(at, id)) {
        at = base::to_micros(filter.after->at);
        id = filter.after->id.value;
    }
    JobPage page;
    for (int looked = 0; looked < most_chunks; ++looked) {
        DEADMAN_TRY(const pqxx::result rows,
                    query(finished_statement,
                          {states, from, at, id, null_if_empty(filter.queue), chunk},
                          Sent::reading));
        DEADMAN_TRY(auto records, describe(first_column(rows)));
        std::ranges::sort(records, [](const JobRecord& a, const JobRecord& b) {
            return std::pair(a.finished_at, a.id) > std::pair(b.finished_at, b.id);
        });
        for (JobRecord& record : records) {
            if (!matches(filter, record))
                continue;
            page.next = JobCursor{*record.finished_at, record.id};
            page.jobs.push_back(std::move(record));
            if (page.jobs.size() == static_cast<std::size_t>(filter.limit))
                return page;
        }
        if (rows.size() < chunk) {
            page.next.reset();
            return page;
        }
        id = rows.back()[0].as<std::int64_t>();
        at = rows.back()[1].as<std::int64_t>();
    }
    page.next = JobCursor{base::from_micros(at), {id}};
    return page;
}

} // namespace deadman::store::postgres

// find_job and list_jobs: a job is looked for in each place where it may be, and the places are
// merged.

#include "deadman/store/sqlite/internal/questions.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace deadman::store::sqlite {
namespace {

using domain::JobState;

constexpr int max_page = 1'000;

/// One table that holds jobs, and how its columns are named in a record.
struct Place {
    const char* from;
    const char* state;
    const char* standing; // attempts, lapse_score, crashes, snoozes, due
    const char* end;      // cancel, fence, session, claimed_at, finished_at, reason, percent, note,
                          // message, result
};

constexpr const char* no_end = "0, NULL, NULL, NULL, NULL, '', 0, '', '', ''";

constexpr Place ready_place{"deadman_ready p JOIN deadman_job j ON j.id = p.id", "'pending'",
                            "p.attempts, p.lapse_score, p.crashes, p.snoozes, p.due", no_end};
constexpr Place later_place{"deadman_later p JOIN deadman_job j ON j.id = p.id", "'scheduled'",
                            "p.attempts, p.lapse_score, p.crashes, p.snoozes, p.due", no_end};
constexpr Place lease_place{"deadman_lease p JOIN deadman_job j ON j.id = p.job", "'running'",
                            "p.attempts, p.lapse_score, p.crashes, p.snoozes, p.due",
                            "p.cancel, p.fence, p.session, p.claimed_at, NULL, '', p.percent, "
                            "p.note, '', ''"};
constexpr Place done_place{"deadman_done p JOIN deadman_job j ON j.id = p.id", "p.state",
                           "p.attempts, p.lapse_score, p.crashes, p.snoozes, p.due",
                           "p.cancel, p.fence, NULL, p.claimed_at, p.finished_at, p.reason, "
                           "p.percent, p.note, p.message, p.result"};

std::string select_from(const Place& place) {
    return std::string("SELECT j.id, ") + place.state +
           ", j.kind, j.queue, j.priority, j.max_attempts, j.retry_kind, j.retry_base, "
           "j.retry_cap, j.retry_jitter, j.timeout, j.transactional, j.unique_key, j.created_at, "
           "j.payload, " +
           place.standing + ", " + place.end + " FROM " + place.from;
}

/// A condition with its parameters, grown piece by piece.
struct Where {
    std::string sql = " WHERE 1";
    std::vector<SqlValue> values;

    void add(const std::string& condition, SqlValue value) {
        values.push_back(std::move(value));
        sql += " AND " + condition + " ?" + std::to_string(values.size());
    }
};

std::optional<base::TimePoint> time_at(const Cursor& row, int column) {
    if (const auto micros = row.optional_integer(column))
        return base::from_micros(*micros);
    return std::nullopt;
}

void read_job_columns(const Cursor& row, JobRecord& job) {
    job.id = domain::JobId{row.integer(0)};
    job.state = domain::parse_job_state(row.text(1)).value_or(JobState::failed);
    job.kind = row.text(2);
    job.queue = row.text(3);
    job.priority = row.small(4);
    job.max_attempts = row.small(5);
    job.retry.kind = static_cast<domain::RetryPolicy::Kind>(row.small(6));
    job.retry.base = base::Duration{row.integer(7)};
    job.retry.cap = base::Duration{row.integer(8)};
    job.retry.jitter = row.real(9);
    job.timeout = base::Duration{row.integer(10)};
    job.transactional = row.flag(11);
    job.unique_key = row.text(12);
    job.created_at = base::from_micros(row.integer(13));
    job.payload = row.text(14);
}

JobRecord read_job(const Cursor& row) {
    JobRecord job;
    read_job_columns(row, job);
    job.attempts_spent = row.small(15);
    job.blame = {row.small(16), row.small(17)};
    job.snoozes = row.small(18);
    job.due = base::from_micros(row.integer(19));
    job.cancel_requested = row.flag(20);
    if (const auto fence = row.optional_integer(21))
        job.fence = domain::Fence{*fence};
    if (const auto session = row.optional_integer(22))
        job.session = domain::SessionId{*session};
    job.claimed_at = time_at(row, 23);
    job.finished_at = time_at(row, 24);
    job.reason = row.text(25);
    job.progress_percent = row.small(26);
    job.progress_note = row.text(27);
    job.message = row.text(28);
    job.result = row.text(29);
    return job;
}

// What a job shows of runs that ended before: the last fence, the last message.
void add_earlier_runs(Connection& db, JobRecord& job) {
    if (!job.fence) {
        Cursor last = db.query("SELECT fence, claimed_at, percent, note FROM deadman_run WHERE "
                               "job = ?1 ORDER BY fence DESC LIMIT 1",
                               job.id.value);
        if (last.next()) {
            job.fence = domain::Fence{last.integer(0)};
            job.claimed_at = time_at(last, 1);
            job.progress_percent = last.small(2);
            job.progress_note = last.text(3);
        }
    }
    if (job.message.empty()) {
        Cursor last = db.query("SELECT message FROM deadman_run WHERE job = ?1 AND message <> '' "
                               "ORDER BY fence DESC LIMIT 1",
                               job.id.value);
        if (last.next())
            job.message = last.text(0);
    }
}

void add_worker(Connection& db, JobRecord& job) {
    if (!job.session)
        return;
    Cursor row = db.query("SELECT worker FROM deadman_session WHERE id = ?1", job.session->value);
    if (row.next())
        job.worker = row.text(0);
}

std::vector<JobRecord> read_jobs(Connection& db, const std::string& sql,
                                 const std::vector<SqlValue>& values) {
    std::vector<JobRecord> jobs;
    Cursor row = db.prepare(sql, false);
    for (std::size_t i = 0; i < values.size(); ++i)
        row.bind_value(static_cast<int>(i) + 1, values[i]);
    while (row.next())
        jobs.push_back(read_job(row));
    return jobs;
}

bool wants(const JobFilter& filter, JobState state) {
    return filter.states.empty() || std::ranges::find(filter.states, state) != filter.states.end();
}

bool wants_finished(const JobFilter& filter) {
    return filter.states.empty() || std::ranges::any_of(filter.states, domain::is_terminal);
}

bool has_finished_bound(const JobFilter& filter) {
    return filter.finished_from || filter.finished_until;
}

bool lists_finished_only(const JobFilter& filter) {
    return has_finished_bound(filter) ||
           (!filter.states.empty() && std::ranges::all_of(filter.states, domain::is_terminal));
}

Where job_conditions(const JobFilter& filter) {
    Where where;
    if (!filter.kind.empty())
        where.add("j.kind =", filter.kind);
    if (!filter.queue.empty())
        where.add("j.queue =", filter.queue);
    if (filter.created_from)
        where.add("j.created_at >=", base::to_micros(*filter.created_from));
    if (filter.created_until)
        where.add("j.created_at <", base::to_micros(*filter.created_until));
    return where;
}

// Named one by one, never by a parameter: then the index of the unsuccessful ones can serve.
void add_finished_states(const JobFilter& filter, Where& where) {
    if (filter.states.empty())
        return;
    std::string names;
    for (const JobState state : filter.states)
        if (domain::is_terminal(state))
            names +=
                (names.empty() ? "'" : ", '") + std::string(domain::job_state_name(state)) + "'";
    where.sql += " AND p.state IN (" + names + ")";
    if (!wants(filter, JobState::succeeded))
        where.sql += " AND p.state <> 'succeeded'";
}

std::string limit_of(const JobFilter& filter) {
    return " LIMIT " + std::to_string(filter.limit + 1);
}

std::vector<JobRecord> finished_jobs(Connection& db, const JobFilter& filter) {
    if (!wants_finished(filter))
        return {};
    Where where = job_conditions(filter);
    add_finished_states(filter, where);
    if (filter.finished_from)
        where.add("p.finished_at >=", base::to_micros(*filter.finished_from));
    if (filter.finished_until)
        where.add("p.finished_at <", base::to_micros(*filter.finished_until));
    if (filter.after) {
        where.add("p.finished_at <=", base::to_micros(filter.after->at));
        where.add("(p.finished_at, p.id) < (?" + std::to_string(where.values.size()) + ",",
                  filter.after->id.value);
        where.sql += ")";
    }
    return read_jobs(db,
                     select_from(done_place) + where.sql +
                         " ORDER BY p.finished_at DESC, p.id DESC" + limit_of(filter),
                     where.values);
}

void append_place(Connection& db, const JobFilter& filter, const Place& place,
                  std::vector<JobRecord>& jobs) {
    Where where = job_conditions(filter);
    if (&place == &done_place)
        add_finished_states(filter, where);
    if (filter.after)
        where.add("j.id <", filter.after->id.value);
    auto more =
        read_jobs(db, select_from(place) + where.sql + " ORDER BY j.id DESC" + limit_of(filter),
                  where.values);
    std::ranges::move(more, std::back_inserter(jobs));
}

std::vector<JobRecord> jobs_by_id(Connection& db, const JobFilter& filter) {
    std::vector<JobRecord> jobs;
    if (wants(filter, JobState::pending))
        append_place(db, filter, ready_place, jobs);
    if (wants(filter, JobState::scheduled))
        append_place(db, filter, later_place, jobs);
    if (wants(filter, JobState::running))
        append_place(db, filter, lease_place, jobs);
    if (wants_finished(filter))
        append_place(db, filter, done_place, jobs);
    std::ranges::sort(jobs, std::ranges::greater{}, &JobRecord::id);
    return jobs;
}

} // namespace

std::optional<JobRecord> find_job(Connection& db, domain::JobId id) {
    for (const Place* place : {&ready_place, &later_place, &lease_place, &done_place}) {
        auto found = read_jobs(db, select_from(*place) + " WHERE j.id = ?1", {id.value});
        if (found.empty())
            continue;
        add_earlier_runs(db, found.front());
        add_worker(db, found.front());
        return std::move(found.front());
    }
    return std::nullopt;
}

base::Result<JobPage> list_jobs(Connection& db, const JobFilter& filter) {
    if (filter.limit < 1 || filter.limit > max_page)
        return base::fail(base::ErrorCode::invalid_argument, "limit: must be from 1 to 1000");
    const bool by_finish = lists_finished_only(filter);
    JobPage page;
    page.jobs = by_finish ? finished_jobs(db, filter) : jobs_by_id(db, filter);
    const auto limit = static_cast<std::size_t>(filter.limit);
    if (page.jobs.size() > limit) {
        page.jobs.resize(limit);
        const JobRecord& last = page.jobs.back();
        page.next = JobCursor{by_finish ? *last.finished_at : base::TimePoint{}, last.id};
    }
    for (JobRecord& job : page.jobs) {
        add_earlier_runs(db, job);
        add_worker(db, job);
    }
    return page;
}

} // namespace deadman::store::sqlite

#include <algorithm>

#include "deadman/store/memory/internal/model.h"

namespace deadman::store::memory {

using base::ErrorCode;
using domain::JobState;

namespace {

constexpr int max_page = 1'000;

bool lists_finished_only(const JobFilter& filter) {
    return filter.finished_from || filter.finished_until ||
           (!filter.states.empty() && std::ranges::all_of(filter.states, domain::is_terminal));
}

bool matches(const JobFilter& filter, const JobRow& job) {
    if (!filter.states.empty() &&
        std::ranges::find(filter.states, job.state) == filter.states.end())
        return false;
    if (!filter.kind.empty() && filter.kind != job.spec.kind)
        return false;
    if (!filter.queue.empty() && filter.queue != job.spec.queue)
        return false;
    if (filter.finished_from && (!job.finished_at || *job.finished_at < *filter.finished_from))
        return false;
    if (filter.finished_until && (!job.finished_at || *job.finished_at >= *filter.finished_until))
        return false;
    if (filter.created_from && job.created_at < *filter.created_from)
        return false;
    return !filter.created_until || job.created_at < *filter.created_until;
}

} // namespace

JobRecord Model::record_of(const JobRow& job) const {
    JobRecord record;
    record.id = job.id;
    record.state = job.state;
    record.kind = job.spec.kind;
    record.queue = job.spec.queue;
    record.priority = job.spec.priority;
    record.payload = job.spec.payload;
    record.attempts_spent = job.attempts_spent;
    record.max_attempts = job.spec.max_attempts;
    record.retry = job.spec.retry;
    record.timeout = job.spec.timeout;
    record.transactional = job.spec.transactional;
    record.unique_key = job.spec.unique_key;
    record.blame = job.blame;
    record.snoozes = job.snoozes;
    record.cancel_requested = job.cancel_requested;
    record.created_at = job.created_at;
    record.due = job.due;
    record.finished_at = job.finished_at;
    record.reason = job.reason;
    record.message = job.message;
    record.result = job.result;
    record.progress_percent = job.progress_percent;
    record.progress_note = job.progress_note;
    if (!job.runs.empty()) {
        record.fence = job.runs.back().fence;
        record.claimed_at = job.runs.back().claimed_at;
    }
    if (job.state == JobState::running) {
        record.session = job.runs.back().session;
        record.worker = job.runs.back().worker;
    }
    return record;
}

std::optional<JobRecord> Model::find(domain::JobId id) const {
    const auto job = tables_.jobs.find(id);
    if (job == tables_.jobs.end())
        return std::nullopt;
    return record_of(job->second);
}

std::vector<RunRecord> Model::runs(domain::JobId id) const {
    const auto job = tables_.jobs.find(id);
    if (job == tables_.jobs.end())
        return {};
    return {job->second.runs.begin(), job->second.runs.end()};
}

base::Result<JobPage> Model::list(const JobFilter& filter) const {
    if (filter.limit < 1 || filter.limit > max_page)
        return base::fail(ErrorCode::invalid_argument, "limit: must be from 1 to 1000");
    JobPage page;
    const auto is_full = [&](const JobRow& job, base::TimePoint at) {
        if (matches(filter, job)) {
            page.jobs.push_back(record_of(job));
            page.next = JobCursor{at, job.id};
        }
        return page.jobs.size() == static_cast<std::size_t>(filter.limit);
    };
    if (lists_finished_only(filter)) {
        auto at = filter.after ? tables_.finished.lower_bound({filter.after->at, filter.after->id})
                               : tables_.finished.end();
        while (at != tables_.finished.begin()) {
            --at;
            if (is_full(tables_.jobs.at(at->second), at->first))
                return page;
        }
    } else {
        auto at = filter.after ? tables_.jobs.lower_bound(filter.after->id) : tables_.jobs.end();
        while (at != tables_.jobs.begin()) {
            --at;
            if (is_full(at->second, {}))
                return page;
        }
    }
    page.next.reset();
    return page;
}

std::int64_t Model::count_outstanding() const {
    return static_cast<std::int64_t>(tables_.jobs.size() - tables_.finished.size());
}

std::vector<QueueRecord> Model::queues() const {
    std::map<std::string_view, QueueRecord> records;
    for (const auto& [name, queue] : tables_.queues) {
        QueueRecord& record = records[name];
        record.name = name;
        record.paused = queue.paused;
        record.pending = static_cast<std::int64_t>(queue.ready.size());
        for (const auto& [key, id] : queue.ready) {
            const base::TimePoint due = tables_.jobs.at(id).due;
            record.oldest_pending = std::min(record.oldest_pending.value_or(due), due);
        }
    }
    for (const auto& [due, id] : tables_.scheduled)
        ++records[tables_.jobs.at(id).spec.queue].scheduled;
    for (const domain::JobId id : tables_.running)
        ++records[tables_.jobs.at(id).spec.queue].running;
    std::vector<QueueRecord> answer;
    for (auto& [name, record] : records)
        answer.push_back(std::move(record));
    return answer;
}

} // namespace deadman::store::memory

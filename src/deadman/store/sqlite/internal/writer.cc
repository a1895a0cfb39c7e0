#include "deadman/store/sqlite/internal/writer.h"

#include <algorithm>

namespace deadman::store::sqlite {
namespace {

// Beyond this a commit's cost is spread thin enough, and the first in the group has waited enough.
constexpr std::size_t largest_group = 128;

} // namespace

Writer::Writer(std::unique_ptr<Connection> connection, FileWatch& watch, base::Clock& clock,
               std::function<void()> on_work)
    : connection_(std::move(connection)), watch_(watch), clock_(clock),
      on_work_(std::move(on_work)), thread_([this] { run(); }) {}

Writer::~Writer() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    queued_.notify_one();
    thread_.join();
}

base::Status Writer::commit(const Operation& operation) {
    Pending pending;
    pending.operation = &operation;
    std::unique_lock lock(mutex_);
    queue_.push_back(&pending);
    queued_.notify_one();
    pending.finished.wait(lock, [&] { return pending.is_finished; });
    return std::move(pending.status);
}

void Writer::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        queued_.wait(lock, [&] { return is_stopping_ || !queue_.empty(); });
        if (queue_.empty())
            return;
        const std::vector<Pending*> group = take_group();
        lock.unlock();
        const bool made_work = commit_group(group);
        lock.lock();
        for (Pending* pending : group) {
            pending->is_finished = true;
            pending->finished.notify_one();
        }
        if (made_work) {
            lock.unlock();
            on_work_();
            lock.lock();
        }
    }
}

std::vector<Writer::Pending*> Writer::take_group() {
    const std::size_t count = std::min(queue_.size(), largest_group);
    const auto last = queue_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Pending*> group(queue_.begin(), last);
    queue_.erase(queue_.begin(), last);
    return group;
}

// Whether jobs have become claimable.
bool Writer::commit_group(const std::vector<Pending*>& group) {
    Moment moment = Moment::statement;
    try {
        return run_and_commit(group, moment);
    } catch (const SqliteFailure& failure) {
        is_out_of_room_ = is_disk_full(failure);
        fail_group(group, translate_sqlite(failure, moment));
        return false;
    }
}

bool Writer::run_and_commit(const std::vector<Pending*>& group, Moment& moment) {
    WriteTransaction transaction(*connection_);
    if (const base::Status in_place = watch_.check(); !in_place) {
        fail_group(group, in_place.error());
        return false;
    }
    WriteContext context{*connection_, clock_.now(), clock_.steady_now()};
    run_group(context, group);
    if (std::ranges::none_of(group, [](const Pending* pending) { return !!pending->status; }))
        return false;
    moment = Moment::commit;
    transaction.commit();
    is_out_of_room_ = false;
    // Moved in the meantime: it is written, and where it went nobody here can tell.
    if (base::Status in_place = watch_.check(); !in_place) {
        base::Error error = std::move(in_place).error();
        error.code = base::ErrorCode::outcome_unknown;
        fail_group(group, error);
    }
    return context.made_work;
}

void Writer::fail_group(const std::vector<Pending*>& group, const base::Error& error) {
    for (Pending* pending : group)
        if (pending->status)
            pending->status = error;
}

void Writer::run_group(WriteContext& context, const std::vector<Pending*>& group) {
    // A lone one needs no savepoint: if it fails there is nothing to commit.
    if (group.size() == 1) {
        group.front()->status = (*group.front()->operation)(context);
        return;
    }
    for (Pending* pending : group)
        pending->status = run_in_savepoint(context, *pending->operation);
}

base::Status Writer::run_in_savepoint(WriteContext& context, const Operation& operation) {
    context.db.run("SAVEPOINT operation");
    base::Status status;
    try {
        status = operation(context);
    } catch (const SqliteFailure& failure) {
        // A full disk may have ended the whole transaction: then it is everybody's failure.
        if (!context.db.in_transaction())
            throw;
        status = translate_sqlite(failure, Moment::statement);
    }
    if (!status)
        context.db.run("ROLLBACK TO operation");
    context.db.run("RELEASE operation");
    return status;
}

} // namespace deadman::store::sqlite

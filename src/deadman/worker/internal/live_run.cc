#include "deadman/worker/internal/live_run.h"

#include <exception>
#include <utility>

namespace deadman::worker::internal {
namespace {

domain::Answer exception_answer(std::string text) {
    domain::Answer answer;
    answer.kind = domain::AnswerKind::error;
    answer.reason = "exception";
    answer.message = std::move(text);
    return answer;
}

// A body is the user's code: what it throws must not travel through a store's driver.
base::Status call_body(const store::EffectBody& body, store::EffectTransaction& transaction) {
    try {
        return body(transaction);
    } catch (const std::exception& exception) {
        return base::fail(base::ErrorCode::internal,
                          std::string("exception in the transaction: ") + exception.what());
    } catch (...) {
        return base::fail(base::ErrorCode::internal, "exception in the transaction");
    }
}

} // namespace

LiveRun::LiveRun(StartRun start, store::JobStore& store, ProgressSink sink)
    : start_(std::move(start)), store_(store), sink_(std::move(sink)) {}

base::Status LiveRun::transaction(const store::EffectBody& body, std::string_view result_json) {
    if (outcome_ != TransactionOutcome::none)
        return base::fail(base::ErrorCode::conflict, "the run has already ended in a transaction");
    if (stopped()) {
        const StopWhy why = why_;
        return base::fail(why == StopWhy::lease_uncertain ? base::ErrorCode::fenced
                                                          : base::ErrorCode::cancelled,
                          "the run was stopped: " + std::string(stop_why_name(why)));
    }
    const auto guarded = [&body](store::EffectTransaction& transaction) {
        return call_body(body, transaction);
    };
    const base::Status status =
        store_.transact(start_.session, start_.claimed.run, result_json, guarded);
    if (status)
        outcome_ = TransactionOutcome::committed;
    else if (status.error().code == base::ErrorCode::outcome_unknown)
        outcome_ = TransactionOutcome::unknown;
    return status;
}

void LiveRun::progress(int percent, std::string note) {
    sink_(start_.claimed.run, percent, std::move(note));
}

void LiveRun::stop(StopWhy why) {
    if (stopped())
        return;
    why_ = why;
    source_.request_stop();
}

domain::Answer LiveRun::call(const Handler& handler) {
    try {
        return handler(*this);
    } catch (const std::exception& exception) {
        return exception_answer(exception.what());
    } catch (...) {
        return exception_answer("the handler threw something that is no std::exception");
    }
}

} // namespace deadman::worker::internal

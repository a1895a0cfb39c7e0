#include "deadman/worker/internal/live_run.h"

#include <exception>
#include <optional>
#include <utility>

#include "deadman/worker/internal/run_key.h"

namespace deadman::worker::internal {
namespace {

domain::Answer exception_answer(std::string text) {
    domain::Answer answer;
    answer.kind = domain::AnswerKind::error;
    answer.reason = "exception";
    answer.message = std::move(text);
    return answer;
}

// The store's own condition, which no other answer of the handler could have changed.
bool is_store_trouble(const base::Error& error) {
    return error.code == base::ErrorCode::unavailable || error.code == base::ErrorCode::exhausted;
}

/// Passes everything on, and remembers which error came from the store.
class ObservedTransaction final : public store::EffectTransaction {
  public:
    explicit ObservedTransaction(store::EffectTransaction& inner) : inner_(inner) {}

    base::Result<std::vector<store::SqlRow>>
    execute(std::string_view sql, std::span<const store::SqlValue> parameters) override {
        auto rows = inner_.execute(sql, parameters);
        if (!rows && !error_)
            error_ = rows.error();
        return rows;
    }

    void cancel() override {
        inner_.cancel();
    }

    const std::optional<base::Error>& error() const {
        return error_;
    }

  private:
    store::EffectTransaction& inner_;
    std::optional<base::Error> error_;
};

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
    std::optional<base::Error> body_failure; // as the store gave it, where it came from there
    const auto guarded = [&](store::EffectTransaction& transaction) {
        ObservedTransaction observed(transaction);
        const std::stop_callback stopping(stop_token(), [&] { transaction.cancel(); });
        base::Status done = call_body(body, observed);
        if (!done)
            body_failure =
                observed.error().value_or(base::make_error(base::ErrorCode::conflict, ""));
        return done;
    };
    const base::Status status =
        store_.transact(start_.session, start_.claimed.run, result_json, guarded);
    store_trouble_.clear();
    if (!status && is_store_trouble(body_failure.value_or(status.error())))
        store_trouble_ = body_failure.value_or(status.error()).message;
    if (status)
        outcome_ = TransactionOutcome::committed;
    else if (status.error().code == base::ErrorCode::outcome_unknown)
        outcome_ = TransactionOutcome::unknown;
    return status;
}

std::string LiveRun::run_key() const {
    return internal::run_key(start_.session, start_.claimed.run);
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
    domain::Answer answer = answer_of(handler);
    if (answer.kind != domain::AnswerKind::error) {
        store_trouble_.clear();
    } else if (!store_trouble_.empty()) {
        answer = {};
        answer.kind = domain::AnswerKind::release;
        answer.reason = "store_trouble";
        answer.message = store_trouble_;
    }
    return answer;
}

domain::Answer LiveRun::answer_of(const Handler& handler) {
    try {
        return handler(*this);
    } catch (const std::exception& exception) {
        return exception_answer(exception.what());
    } catch (...) {
        return exception_answer("the handler threw something that is no std::exception");
    }
}

} // namespace deadman::worker::internal

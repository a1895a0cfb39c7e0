#include "deadman/embedded/run.h"

#include <exception>

#include "deadman/embedded/internal/translate.h"
#include "deadman/worker/handlers/idempotency_key.h"

namespace deadman {

Transaction::~Transaction() = default;
Run::~Run() = default;

} // namespace deadman

namespace deadman::embedded {
namespace {

/// Thrown by snooze and fail through the handler; not a std::exception, so that a handler's own
/// catch clauses let it pass.
struct EarlyAnswer {
    domain::Answer answer;
};

class AdaptedTransaction final : public Transaction {
  public:
    explicit AdaptedTransaction(store::EffectTransaction& transaction)
        : transaction_(transaction) {}

    std::vector<Row> execute(std::string_view sql, const std::vector<Value>& parameters) override {
        return value_or_throw(transaction_.execute(sql, std::span<const Value>(parameters)));
    }

  private:
    store::EffectTransaction& transaction_;
};

class AdaptedRun final : public Run {
  public:
    explicit AdaptedRun(worker::RunContext& context) : context_(context) {}

    std::int64_t job_id() const override {
        return context_.claimed().run.job.value;
    }

    std::int64_t fence() const override {
        return context_.claimed().run.fence.value;
    }

    int attempt() const override {
        return context_.attempt();
    }

    const std::string& payload() const override {
        return context_.claimed().payload;
    }

    std::string idempotency_key() const override {
        return worker::idempotency_key(context_.claimed().run.job);
    }

    std::string key() const override {
        return context_.run_key();
    }

    std::stop_token stop_token() const override {
        return context_.stop_token();
    }

    void transaction(const std::function<void(Transaction&)>& body) override {
        // What the body throws must roll back, and come out of here as it was.
        std::exception_ptr thrown;
        const base::Status done = context_.transaction(
            [&](store::EffectTransaction& transaction) -> base::Status {
                try {
                    AdaptedTransaction adapted(transaction);
                    body(adapted);
                    return {};
                } catch (...) {
                    thrown = std::current_exception();
                    return base::fail(base::ErrorCode::cancelled, "the transaction's body threw");
                }
            },
            result_);
        if (thrown)
            std::rethrow_exception(thrown);
        throw_if_failed(done);
    }

    void snooze(Duration delay) override {
        domain::Answer answer;
        answer.kind = domain::AnswerKind::snooze;
        answer.delay = delay;
        throw EarlyAnswer{std::move(answer)};
    }

    void fail(const std::string& message) override {
        domain::Answer answer;
        answer.kind = domain::AnswerKind::failed;
        answer.reason = domain::reason_error;
        answer.message = message;
        throw EarlyAnswer{std::move(answer)};
    }

    void progress(int percent, const std::string& note) override {
        context_.progress(percent, note);
    }

    void set_result(std::string json) override {
        result_ = std::move(json);
    }

    const std::string& result() const {
        return result_;
    }

  private:
    worker::RunContext& context_;
    std::string result_;
};

} // namespace

worker::Handler adapt(Handler handler) {
    return [handler = std::move(handler)](worker::RunContext& context) {
        AdaptedRun run(context);
        domain::Answer answer;
        try {
            handler(run);
            answer.result = run.result();
        } catch (EarlyAnswer& early) {
            answer = std::move(early.answer);
        }
        return answer;
    };
}

} // namespace deadman::embedded

#include "deadman/worker/handlers/sql_handler.h"

namespace deadman::worker {
namespace {

std::vector<store::SqlValue> bind(const SqlStatement& statement, const RunContext& context) {
    const store::Claimed& job = context.claimed();
    std::vector<store::SqlValue> values;
    for (const SqlParameter parameter : statement.parameters) {
        switch (parameter) {
        case SqlParameter::payload:
            values.emplace_back(job.payload);
            break;
        case SqlParameter::job_id:
            values.emplace_back(job.run.job.value);
            break;
        case SqlParameter::fence:
            values.emplace_back(job.run.fence.value);
            break;
        case SqlParameter::attempt:
            values.emplace_back(std::int64_t{context.attempt()});
            break;
        }
    }
    return values;
}

} // namespace

Handler make_sql_handler(SqlStatement statement) {
    return [statement = std::move(statement)](RunContext& context) {
        const auto values = bind(statement, context);
        const base::Status done =
            context.transaction([&](store::EffectTransaction& transaction) -> base::Status {
                DEADMAN_TRY([[maybe_unused]] const auto rows,
                            transaction.execute(statement.text, values));
                return {};
            });
        domain::Answer answer; // after a commit it is ignored
        if (!done) {
            answer.kind = domain::AnswerKind::error;
            answer.reason = "sql";
            answer.message = done.error().message;
        }
        return answer;
    };
}

} // namespace deadman::worker

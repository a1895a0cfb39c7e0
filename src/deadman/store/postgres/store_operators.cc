#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {
namespace {

const Statement cancel_statement{"cancel", "select deadman.cancel($1)"};
const Statement retry_statement{"retry", "select deadman.retry($1)"};
const Statement remove_statement{"remove", "select deadman.remove($1)"};
const Statement pause_statement{"set_paused", "select deadman.set_paused($1, $2)"};

CancelAnswer parse_answer(std::string_view text) {
    if (text == "cancelled")
        return CancelAnswer::cancelled;
    if (text == "requested")
        return CancelAnswer::requested;
    if (text == "already_finished")
        return CancelAnswer::already_finished;
    if (text == "not_found")
        return CancelAnswer::not_found;
    return CancelAnswer::unknown;
}

} // namespace

base::Result<CancelAnswer> Store::cancel(domain::JobId id) {
    DEADMAN_TRY(const pqxx::result answer, query(cancel_statement, {id.value}, Sent::deciding));
    return parse_answer(answer[0][0].view());
}

base::Status Store::retry(domain::JobId id) {
    DEADMAN_TRY_STATUS(query(retry_statement, {id.value}, Sent::deciding));
    return {};
}

base::Status Store::remove(domain::JobId id) {
    DEADMAN_TRY_STATUS(query(remove_statement, {id.value}, Sent::deciding));
    return {};
}

base::Status Store::pause_queue(std::string_view queue) {
    DEADMAN_TRY_STATUS(query(pause_statement, {queue, true}, Sent::reading));
    return {};
}

base::Status Store::resume_queue(std::string_view queue) {
    DEADMAN_TRY_STATUS(query(pause_statement, {queue, false}, Sent::reading));
    return {};
}

} // namespace deadman::store::postgres

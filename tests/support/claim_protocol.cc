#include "tests/support/claim_protocol.h"

#include <algorithm>

namespace deadman::test {
namespace {

std::string numbers(const std::vector<WireClaim>& runs, std::int64_t WireClaim::* field) {
    std::string text;
    for (const WireClaim& run : runs)
        text += (text.empty() ? "" : ",") + std::to_string(run.*field);
    return "'{" + text + "}'::bigint[]";
}

} // namespace

ClaimProtocol::ClaimProtocol() : c(database.url()) {
    c.run("create table public.effect(number int)");
    c.run("select deadman.queue_id('default')");
}

std::unique_ptr<PostgresWire> ClaimProtocol::connect(const std::string& settings) {
    auto wire = std::make_unique<PostgresWire>(database.url());
    if (!settings.empty())
        wire->run(settings);
    return wire;
}

WireSession ClaimProtocol::session(const std::string& lease, bool hints) {
    const WireRows rows =
        c.run("select id, key from deadman.register_session('worker', 'host', 1, 'test', "
              "'{default}', '{work}', 4, "
              "(extract(epoch from interval '" +
              lease + "') * 1000000)::bigint, " + (hints ? "true" : "false") + ")");
    return {rows[0][0], rows[0][1]};
}

std::vector<std::int64_t> ClaimProtocol::enqueue(PostgresWire& on, int count, bool transactional) {
    std::vector<std::int64_t> ids;
    for (const auto& row : on.run("select deadman.enqueue('work', transactional => " +
                                  std::string(transactional ? "true" : "false") +
                                  ") from generate_series(1, " + std::to_string(count) + ")"))
        ids.push_back(std::stoll(row[0]));
    return ids;
}

std::string ClaimProtocol::claim_sql(const WireSession& session, int number, int most,
                                     WireCursor after) {
    const std::string cursors = ", array[" + std::to_string(after.returned) +
                                "]::bigint[], array[" + std::to_string(after.fresh) + "]::bigint[]";
    return "select id, fence, solo, lane, ticket from deadman.claim(" + session.id + ", '" +
           session.key + "', " + std::to_string(number) + ", " + std::to_string(most) +
           ", '{default}', array[1], array[5]::smallint[]" + cursors + cursors + ")";
}

std::vector<WireClaim> ClaimProtocol::claims(const WireRows& rows) {
    std::vector<WireClaim> claimed;
    for (const auto& row : rows)
        claimed.push_back({std::stoll(row[0]), std::stoll(row[1]), row[2] == "t", std::stoi(row[3]),
                           std::stoll(row[4])});
    return claimed;
}

std::vector<WireClaim> ClaimProtocol::claim(PostgresWire& on, const WireSession& session,
                                            int number, int most, WireCursor after) {
    return claims(on.run(claim_sql(session, number, most, after)));
}

std::vector<WireClaim> ClaimProtocol::claim_suspect(PostgresWire& on, const WireSession& session,
                                                    int number) {
    return claims(on.run("select id, fence, solo, lane, ticket from deadman.claim_suspect(" +
                         session.id + ", '" + session.key + "', " + std::to_string(number) +
                         ", '{default}')"));
}

std::string ClaimProtocol::complete_sql(const WireSession& session,
                                        const std::vector<WireClaim>& runs, WireOutcome outcome) {
    return "select verdict from deadman.complete_batch(" + session.id + ", '" + session.key +
           "', " + numbers(runs, &WireClaim::fence) + ", " + numbers(runs, &WireClaim::job) +
           ", array_fill(" + std::to_string(outcome) + "::smallint, array[" +
           std::to_string(runs.size()) + "]), null, null, null, null)";
}

std::vector<std::string> ClaimProtocol::verdicts(const WireRows& rows) {
    std::vector<std::string> all;
    for (const auto& row : rows)
        all.push_back(row[0]);
    return all;
}

std::vector<std::string> ClaimProtocol::complete(PostgresWire& on, const WireSession& session,
                                                 const std::vector<WireClaim>& runs,
                                                 WireOutcome outcome) {
    return verdicts(on.run(complete_sql(session, runs, outcome)));
}

std::string ClaimProtocol::complete_all_sql(const WireSession& session,
                                            const std::vector<WireClaim>& runs) {
    return "select deadman.complete_all(" + session.id + ", '" + session.key + "', " +
           std::to_string(runs.at(0).fence) + ", " + numbers(runs, &WireClaim::job) + ")";
}

std::string ClaimProtocol::app_sql(const std::string& function, const WireClaim& run,
                                   const WireSession& session) {
    const std::string names = std::to_string(run.job) + ", " + std::to_string(run.fence);
    return "select deadman." + function + "(" + names + ", deadman.run_key('" + session.key +
           "', " + names + "))";
}

void ClaimProtocol::expire(const WireSession& session) {
    c.run("update deadman.session set renewed_at = now() - interval '1 hour' where id = " +
          session.id);
}

std::string ClaimProtocol::mark() {
    c.run("select deadman.observe_tick(3000000, 8000000)");
    c.run("update deadman.tick set grace_from = '-infinity', grace_until = '-infinity'");
    return c.one("select array_to_string(deadman.reap_sessions(3000000, 1000000), ' ')");
}

std::int64_t ClaimProtocol::return_leases(PostgresWire& on) {
    const WireRows rows = on.run("select * from deadman.reap_leases(3, 0)");
    return std::stoll(rows[0][0]) + std::stoll(rows[0][1]);
}

std::string ClaimProtocol::reap() {
    const std::string marked = mark();
    return_leases(c);
    c.run("select deadman.close_sessions()");
    return marked;
}

std::string ClaimProtocol::state(std::int64_t job) {
    std::string all; // more than one would be the bug
    for (const auto& row :
         c.run("select state from deadman.describe(array[" + std::to_string(job) + "::bigint])"))
        all += (all.empty() ? "" : "+") + row[0];
    return all;
}

std::vector<std::string> ClaimProtocol::states(const std::vector<std::int64_t>& jobs) {
    std::vector<std::string> all;
    for (const std::int64_t job : jobs)
        all.push_back(state(job));
    return all;
}

std::int64_t ClaimProtocol::ready() {
    return c.number("select count(*) from deadman.ready");
}

} // namespace deadman::test

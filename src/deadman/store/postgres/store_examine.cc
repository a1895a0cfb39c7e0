#include "deadman/store/postgres/internal/migrations.h"
#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {
namespace {

using Severity = Finding::Severity;

const Statement examine_statement{"examine", "select * from deadman.examine()", Pace::slow};
const Statement readiness_statement{"readiness", "select * from deadman.examine() where name in "
                                                 "('partitions_ahead', 'job_ranges_ahead')"};
const Statement version_statement{"schema_version",
                                  "select coalesce(max(version), 0) from deadman.schema_version"};

Severity parse_severity(std::string_view text) {
    if (text == "problem")
        return Severity::problem;
    if (text == "warning")
        return Severity::warning;
    return text == "notice" ? Severity::notice : Severity::ok;
}

Finding schema_finding(int stands) {
    const int wanted = migrations().back().version;
    if (stands == wanted)
        return {Severity::ok, "schema", "version " + std::to_string(stands)};
    return {Severity::problem, "schema",
            "version " + std::to_string(stands) + " stands and this build wants " +
                std::to_string(wanted) + ": run migrate with the newer build"};
}

} // namespace

base::Result<std::vector<Finding>> Store::findings_of(const Statement& statement) {
    DEADMAN_TRY(const pqxx::result version, query(version_statement, {}, Sent::reading));
    std::vector<Finding> findings{schema_finding(version[0][0].as<int>())};
    DEADMAN_TRY(const pqxx::result rows, query(statement, {}, Sent::reading));
    for (const auto& row : rows)
        findings.push_back(
            {parse_severity(row[0].view()), row[1].as<std::string>(), row[2].as<std::string>()});
    return findings;
}

base::Result<std::vector<Finding>> Store::readiness() {
    return findings_of(readiness_statement);
}

base::Result<std::vector<Finding>> Store::examine() {
    DEADMAN_TRY(auto findings, findings_of(examine_statement));
    if (options_.through_pooler)
        findings.push_back({Severity::notice, "through_pooler",
                            "no hints of death and no wake-ups: dead workers are seen by their "
                            "lease, and new work by polling"});
    return findings;
}

} // namespace deadman::store::postgres

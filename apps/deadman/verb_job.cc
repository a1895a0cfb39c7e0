#include "apps/deadman/verb_job.h"

#include <charconv>

#include "apps/deadman/output.h"
#include "apps/deadman/verb.h"

namespace deadman {

void add_job_verb(CLI::App& app, int& exit_code) {
    CLI::App* job = app.add_subcommand("job", "Enqueue jobs, look at them, change their course");
    job->require_subcommand(1);
    add_job_enqueue(*job, exit_code);
    add_job_list(*job, exit_code);
    add_job_show(*job, exit_code);
    add_job_wait(*job, exit_code);
    add_job_changes(*job, exit_code);
}

base::Result<domain::JobId> parse_job_id(const std::string& text) {
    domain::JobId id;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, id.value);
    if (error != std::errc{} || stop != end || id.value <= 0)
        return base::fail(base::ErrorCode::invalid_argument,
                          "job id: a whole number from 1, not '" +
                              cli::cut_to(cli::one_line(text), 40) + "'");
    return id;
}

base::Result<std::vector<domain::JobId>> parse_job_ids(const std::vector<std::string>& texts) {
    std::vector<domain::JobId> ids;
    for (const std::string& text : texts) {
        DEADMAN_TRY(const domain::JobId id, parse_job_id(text));
        ids.push_back(id);
    }
    return ids;
}

} // namespace deadman

// deadman chaos-worker (hidden): one worker process of `chaos run` and `demo`.

#include <string>
#include <vector>

#include "apps/deadman/chaos/chaos_worker.h"
#include "apps/deadman/option_values.h"
#include "apps/deadman/verb.h"

namespace deadman {

void add_chaos_worker_verb(CLI::App& app, int& exit_code) {
    CLI::App* verb = app.add_subcommand("chaos-worker", "")->group("");
    verb->allow_extras();
    verb->callback([verb, &exit_code] {
        const auto brief = chaos::parse_brief(verb->remaining());
        if (!brief) {
            print_error(brief.error());
            exit_code = exit_usage;
            return;
        }
        exit_code = chaos::run_chaos_worker(*brief);
    });
}

} // namespace deadman

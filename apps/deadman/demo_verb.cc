// deadman demo: real files, hashed by workers that are killed all the while.

#include "apps/deadman/verb.h"

namespace deadman {

void add_demo_verb(CLI::App& app, int& exit_code) {
    CLI::App* verb =
        app.add_subcommand("demo", "Hash 2,000 real files while their workers are killed");
    verb->callback([&exit_code] { exit_code = exit_error; });
}

} // namespace deadman

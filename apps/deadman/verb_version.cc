// deadman version: what this binary is.

#include <memory>

#include "apps/deadman/connect.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/verb.h"
#include "apps/deadman/versions.h"

namespace deadman {
namespace {

void print_version(cli::OutputFormat output) {
    const cli::Versions versions = cli::versions();
    if (output != cli::OutputFormat::table) {
        cli::print_json(cli::JsonObject()
                            .text("version", versions.deadman)
                            .text("commit", versions.commit)
                            .text("compiler", versions.compiler)
                            .text("sqlite", versions.sqlite)
                            .text_or_null("libpq", versions.libpq)
                            .str());
        return;
    }
    cli::print("deadman " + versions.deadman + " (commit " + versions.commit + ")\n" +
               versions.compiler + ", SQLite " + versions.sqlite +
               (versions.libpq.empty() ? "" : ", libpq " + versions.libpq) + "\n");
}

} // namespace

void add_version_verb(CLI::App& app, int& exit_code) {
    CLI::App* verb = app.add_subcommand("version", "Version, commit, and libraries");
    const auto output = std::make_shared<cli::OutputFormat>(cli::OutputFormat::table);
    cli::add_output(*verb, *output);
    verb->callback([output, &exit_code] {
        print_version(*output);
        exit_code = cli::after_output(exit_ok);
    });
}

} // namespace deadman

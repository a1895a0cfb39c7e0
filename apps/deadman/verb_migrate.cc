// deadman migrate: makes a store, or brings its schema to this build's version.

#include <format>
#include <memory>

#include "apps/deadman/connect.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/load_config.h"
#include "apps/deadman/store_url.h"
#include "apps/deadman/verb.h"
#include "deadman/platform/paths.h"

namespace deadman {
namespace {

struct MigrateArguments {
    cli::ConfigFlags config;
    cli::OutputFormat output = cli::OutputFormat::table;
};

base::Result<int> run(const MigrateArguments& arguments) {
    base::SystemClock clock;
    DEADMAN_TRY(const config::Config config, cli::load_config(arguments.config));
    DEADMAN_TRY(const StoreUrl url, parse_store_url(config.store));
    if (url.automatic || url.kind == StoreUrl::Kind::memory)
        return base::fail(base::ErrorCode::invalid_argument,
                          "store URL: " + url.text() + " leaves nothing behind to migrate");
    if (config.origin_of("store") == config::Origin::fallback)
        DEADMAN_TRY_STATUS(platform::create_directories(config.data_dir));
    DEADMAN_TRY(const auto store, open_store(url, clock));
    DEADMAN_TRY(const store::MigrationReport report, store->migrate());
    if (arguments.output != cli::OutputFormat::table)
        cli::print_json(cli::JsonObject()
                            .text("store", url.redacted())
                            .number("from_version", report.from_version)
                            .number("to_version", report.to_version)
                            .str());
    else if (report.from_version == report.to_version)
        cli::print(
            std::format("{} is at schema version {} already\n", url.redacted(), report.to_version));
    else
        cli::print(std::format("{}: schema version {} -> {}\n", url.redacted(), report.from_version,
                               report.to_version));
    return exit_ok;
}

} // namespace

void add_migrate_verb(CLI::App& app, int& exit_code) {
    CLI::App* verb = app.add_subcommand("migrate", "Make a store, or bring its schema up to date");
    const auto arguments = std::make_shared<MigrateArguments>();
    cli::add_config_flags(*verb, arguments->config, {""});
    cli::add_output(*verb, arguments->output);
    verb->callback([arguments, &exit_code] { exit_code = cli::exit_code_after(run(*arguments)); });
}

} // namespace deadman

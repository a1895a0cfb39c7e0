// deadman backup: a copy of a SQLite store that may be in use meanwhile.

#include <format>
#include <memory>

#include "apps/deadman/connect.h"
#include "apps/deadman/interruption.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/load_config.h"
#include "apps/deadman/progress_line.h"
#include "apps/deadman/store_url.h"
#include "apps/deadman/verb.h"
#include "deadman/store/sqlite/sqlite_backup.h"

namespace deadman {
namespace {

struct BackupArguments {
    cli::ConfigFlags config;
    std::string target;
    cli::OutputFormat output = cli::OutputFormat::table;
};

base::Result<std::string> file_to_copy(const StoreUrl& url) {
    using base::ErrorCode;
    if (url.kind == StoreUrl::Kind::postgres)
        return base::fail(ErrorCode::invalid_argument,
                          "a Postgres store is backed up by Postgres' own tools: pg_dump of the "
                          "database for a copy of one moment, pg_basebackup with an archive of "
                          "the log to get back to any moment");
    if (url.kind == StoreUrl::Kind::memory || url.automatic)
        return base::fail(ErrorCode::invalid_argument,
                          "store URL: " + url.text() + " is no file to copy");
    return url.target;
}

std::string mebibytes(std::uint64_t bytes) {
    return std::format("{:.1f}", static_cast<double>(bytes) / (1 << 20));
}

base::Result<int> run(const BackupArguments& arguments) {
    base::SystemClock clock;
    DEADMAN_TRY(const config::Config config, cli::load_config(arguments.config));
    DEADMAN_TRY(const StoreUrl url, parse_store_url(config.store));
    DEADMAN_TRY(const std::string path, file_to_copy(url));
    DEADMAN_TRY(const auto interruption, cli::Interruption::watch(clock));
    ProgressLine progress(clock);
    store::SqliteBackupOptions options;
    options.on_progress = [&](std::uint64_t copied, std::uint64_t total) {
        progress.show(std::format("copied {} of {} MiB", mebibytes(copied), mebibytes(total)));
        return !interruption->happened();
    };
    const auto report = store::back_up_sqlite(path, arguments.target, options);
    progress.finish();
    if (!report && interruption->happened())
        return exit_interrupted;
    if (!report)
        return report.error();
    if (arguments.output != cli::OutputFormat::table)
        cli::print_json(cli::JsonObject()
                            .text("store", url.redacted())
                            .text("target", arguments.target)
                            .number("bytes", static_cast<std::int64_t>(report->bytes))
                            .str());
    else
        cli::print(
            std::format("{}: {} MiB, checked\n", arguments.target, mebibytes(report->bytes)));
    return exit_ok;
}

} // namespace

void add_backup_verb(CLI::App& app, int& exit_code) {
    CLI::App* verb = app.add_subcommand(
        "backup", "Copy a SQLite store into one file, while it is in use, and check the copy");
    const auto arguments = std::make_shared<BackupArguments>();
    verb->add_option("TARGET", arguments->target, "The file to make; it must not be there yet")
        ->required();
    cli::add_config_flags(*verb, arguments->config, {""});
    cli::add_output(*verb, arguments->output);
    verb->callback([arguments, &exit_code] { exit_code = cli::exit_code_after(run(*arguments)); });
}

} // namespace deadman

#include "apps/deadman/connect.h"

#include "apps/deadman/http_backend.h"
#include "apps/deadman/load_config.h"
#include "apps/deadman/store_backend.h"
#include "apps/deadman/store_url.h"

namespace deadman::cli {

void add_output(CLI::App& verb, OutputFormat& output) {
    verb.add_option_function<std::string>(
            "-o,--output",
            [&output](const std::string& name) {
                const auto format = parse_output_format(name);
                if (!format)
                    throw CLI::ValidationError("-o", "table, json or jsonl, not '" + name + "'");
                output = *format;
            },
            "table, json (as the API has it) or jsonl (an object a line)")
        ->type_name("FORMAT")
        ->default_str("table");
}

void add_surface(CLI::App& verb, Surface& surface) {
    verb.add_option("--store", surface.store, "Talk to this store: sqlite:PATH or postgresql://...")
        ->type_name("URL");
    verb.add_option("--url", surface.url, "Talk to the server there")
        ->type_name("URL")
        ->envname("DEADMAN_URL")
        ->default_str(default_url);
    verb.add_option("--token-file", surface.token_file, "File with the server's bearer token")
        ->type_name("FILE")
        ->envname("DEADMAN_TOKEN_FILE");
    add_output(verb, surface.output);
}

namespace {

base::Result<domain::PayloadLimits> payload_limits(const std::string& store) {
    ConfigFlags flags;
    // The folder is not used, and there may be no home to have it in.
    flags.flags = {{"store", store}, {"data-dir", "."}};
    DEADMAN_TRY(const config::Config config, load_config(flags));
    return domain::PayloadLimits{.max_bytes = config.limits.max_payload_bytes};
}

/// What is written by the rules of another version than the schema's may be read wrongly by all.
base::Status check_schema(store::JobStore& store) {
    DEADMAN_TRY(const auto findings, store.readiness());
    for (const store::Finding& finding : findings)
        if (finding.name == "schema_version" &&
            finding.severity == store::Finding::Severity::problem)
            return base::fail(base::ErrorCode::conflict, "the store's schema: " + finding.message);
    return {};
}

} // namespace

base::Result<std::unique_ptr<JobBackend>> connect(const Surface& surface, base::Clock& clock) {
    if (!surface.store)
        return make_http_backend(surface.url, surface.token_file);
    domain::PayloadLimits limits;
    if (surface.enqueues) {
        DEADMAN_TRY(limits, payload_limits(*surface.store));
    }
    DEADMAN_TRY(auto store, open_existing_store(*surface.store, clock, limits));
    DEADMAN_TRY_STATUS(check_schema(*store));
    DEADMAN_TRY(const StoreUrl url, parse_store_url(*surface.store));
    return make_store_backend(std::move(store), url.redacted());
}

base::Result<int> on_backend(const Surface& surface, base::Clock& clock,
                             const std::function<base::Result<int>(JobBackend&)>& body) {
    DEADMAN_TRY(const auto backend, connect(surface, clock));
    auto done = body(*backend);
    if (done || !backend->is_unauthorised())
        return done;
    say(done.error().message);
    return exit_unauthorised;
}

} // namespace deadman::cli

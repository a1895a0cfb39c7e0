#include "deadman/worker/handlers/handler_factory.h"

#include "deadman/platform/paths.h"
#include "deadman/worker/handlers/exec_handler.h"
#include "deadman/worker/handlers/http_handler.h"
#include "deadman/worker/handlers/sql_handler.h"
#include "deadman/worker/handlers/webhook_signature.h"

namespace deadman::worker {
namespace {

constexpr std::size_t longest_secret_file = 4 << 10;

struct Maker {
    const config::Config& config;
    std::string_view store_name;
    const base::Clock& clock;

    base::Result<Handler> operator()(const config::ExecHandler& exec) const {
        return make_exec_handler({.command = exec.command,
                                  .timeout = exec.timeout,
                                  .working_directory = exec.working_directory,
                                  .environment = exec.environment,
                                  .kill_grace = exec.kill_grace,
                                  .max_output_bytes = config.limits.max_output_bytes},
                                 clock);
    }

    base::Result<Handler> operator()(const config::HttpHandler& http) const {
        HttpOptions options;
        options.url = http.url;
        options.timeout = http.timeout;
        options.allow_private_addresses = http.allow_private_addresses;
        options.max_redirects = http.max_redirects;
        options.max_output_bytes = config.limits.max_output_bytes;
        if (!http.secret_file.empty()) {
            DEADMAN_TRY(const std::string text,
                        platform::read_file(http.secret_file, longest_secret_file));
            DEADMAN_TRY(options.secret, parse_webhook_secret(text));
        }
        return make_http_handler(std::move(options), clock);
    }

    base::Result<Handler> operator()(const config::SqlHandler& sql) const {
        const auto dialect = store_name == "postgres" ? SqlDialect::postgres : SqlDialect::sqlite;
        DEADMAN_TRY(SqlStatement statement, compile_statement(sql.statement, dialect));
        return make_sql_handler(std::move(statement));
    }
};

} // namespace

base::Result<HandlerRegistry> make_handlers(const config::Config& config,
                                            std::string_view store_name, const base::Clock& clock) {
    HandlerRegistry registry;
    for (const auto& [kind, declared] : config.handlers) {
        auto handler = std::visit(Maker{config, store_name, clock}, declared);
        const bool in_transaction = std::holds_alternative<config::SqlHandler>(declared);
        if (!handler)
            return base::fail(handler.error().code,
                              "[handlers." + kind + "]: " + handler.error().message);
        registry.add(kind, std::move(*handler),
                     in_transaction ? Ending::in_transaction : Ending::by_answer);
    }
    return registry;
}

} // namespace deadman::worker

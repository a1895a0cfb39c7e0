#include "apps/deadman/bench/bench_target.h"

#include "apps/deadman/bench/internal/sql_session.h"

namespace deadman::bench {

std::vector<std::string> server_settings() {
    return {
        "max_connections=200",
        "shared_buffers=1GB",
        "max_wal_size=8GB",
        "min_wal_size=1GB",
        "checkpoint_timeout=15min",
        "wal_buffers=64MB",
        "random_page_cost=1.1",
        "effective_cache_size=4GB",
        "work_mem=16MB",
        "jit=off",
    };
}

base::Result<std::unique_ptr<BenchTarget>> BenchTarget::open(const std::string& store_url,
                                                             base::Clock& clock) {
    DEADMAN_TRY(const StoreUrl asked, parse_store_url(store_url));
    std::unique_ptr<BenchTarget> target(new BenchTarget);
    target->name_ = asked.redacted();
    target->url_ = asked;
    if (asked.automatic && asked.kind == StoreUrl::Kind::postgres) {
        store::PrivateServerOptions options;
        options.settings = server_settings();
        // A log that can be asked for, for plans.
        options.settings.emplace_back("logging_collector=on");
        options.settings.emplace_back("log_directory=log");
        DEADMAN_TRY(target->server_, store::PrivateServer::start(clock, options));
        target->url_.automatic = false;
        target->url_.target = target->server_->url();
    } else if (asked.automatic) {
        DEADMAN_TRY(target->throwaway_, ThrowawayStore::resolve(asked));
        target->url_ = target->throwaway_->url();
    }
    DEADMAN_TRY(target->store_, open_store(target->url_, clock));
    DEADMAN_TRY_STATUS(target->store_->migrate());
    return target;
}

base::Status BenchTarget::settle() {
    if (!is_postgres())
        return {};
    DEADMAN_TRY(const auto sql, internal::open_sql_session(url_));
    DEADMAN_TRY_STATUS(sql->run("analyze"));
    return sql->run("checkpoint");
}

} // namespace deadman::bench

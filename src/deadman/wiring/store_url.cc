#include "deadman/wiring/store_url.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "deadman/store/memory/memory_job_store.h"
#include "deadman/store/postgres/postgres_job_store.h"
#include "deadman/store/sqlite/sqlite_job_store.h"

namespace deadman::wiring {
namespace {

constexpr std::string_view expected = "expected sqlite:PATH, postgresql://... or memory:";

base::Error not_a_url(std::string_view why) {
    return base::fail(base::ErrorCode::invalid_argument,
                      "bad store URL: " + std::string(why) + "; " + std::string(expected));
}

bool is_postgres(std::string_view text) {
    return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

} // namespace

base::Result<StoreUrl> parse_store_url(std::string_view text) {
    if (text.find('\0') != std::string_view::npos)
        return not_a_url("it holds a NUL");
    if (text == "memory:")
        return StoreUrl{.kind = StoreUrl::Kind::memory, .target = {}, .automatic = false};
    if (text == "sqlite:auto")
        return StoreUrl{.kind = StoreUrl::Kind::sqlite, .target = {}, .automatic = true};
    if (text == "postgres:auto" || text == "postgresql:auto")
        return StoreUrl{.kind = StoreUrl::Kind::postgres, .target = {}, .automatic = true};
    if (is_postgres(text))
        return StoreUrl{
            .kind = StoreUrl::Kind::postgres, .target = std::string(text), .automatic = false};
    if (text.starts_with("sqlite:")) {
        text.remove_prefix(7);
        if (text.starts_with("//"))
            text.remove_prefix(2); // sqlite:///abs/path
        if (text.empty())
            return not_a_url("sqlite: without a path");
        return StoreUrl{
            .kind = StoreUrl::Kind::sqlite, .target = std::string(text), .automatic = false};
    }
    // What was given is not repeated: it may be a Postgres URL with a password and a typo.
    return not_a_url("unknown scheme");
}

std::string StoreUrl::text() const {
    switch (kind) {
    case Kind::memory:
        return "memory:";
    case Kind::sqlite:
        return automatic ? "sqlite:auto" : "sqlite:" + target;
    case Kind::postgres:
        break;
    }
    return automatic ? "postgres:auto" : target;
}

std::string StoreUrl::redacted() const {
    std::string whole = text();
    if (kind != Kind::postgres || automatic)
        return whole;
    // postgresql://user:secret@host/name?password=secret
    const std::size_t start = whole.find("://") + 3;
    const std::size_t at = whole.substr(0, whole.find('/', start)).rfind('@');
    if (const std::size_t colon = whole.find(':', start); at != std::string::npos && colon < at)
        whole.replace(colon + 1, at - colon - 1, "***");
    if (const std::size_t word = whole.find("password="); word != std::string::npos) {
        const std::size_t from = word + 9;
        const std::size_t to = std::min(whole.find('&', from), whole.size());
        whole.replace(from, to - from, "***");
    }
    return whole;
}

base::Result<std::unique_ptr<store::JobStore>>
open_store(const StoreUrl& url, base::Clock& clock, const domain::PayloadLimits& payload_limits) {
    switch (url.kind) {
    case StoreUrl::Kind::memory: {
        store::MemoryJobStoreOptions options;
        options.max_payload_bytes = payload_limits.max_bytes;
        return std::unique_ptr<store::JobStore>(
            std::make_unique<store::MemoryJobStore>(clock, options));
    }
    case StoreUrl::Kind::sqlite: {
        store::SqliteOptions options;
        options.path = url.target;
        options.payload_limits = payload_limits;
        return store::SqliteJobStore::open(options, clock);
    }
    case StoreUrl::Kind::postgres:
        break;
    }
    store::PostgresOptions options;
    options.url = url.target;
    options.max_payload_bytes = payload_limits.max_bytes;
    return store::PostgresJobStore::open(clock, options);
}

} // namespace deadman::wiring

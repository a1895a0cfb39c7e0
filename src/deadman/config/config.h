#pragma once
// Config: what a process was told, by whom, checked.
//
// Contract:      a flag wins over the environment, that over the file, that over the default.
// Unknown
//                keys are refused with the line and the nearest known name. `resolve` reads nothing
//                but its argument; `read_file` is the only function that touches files.
// Errors:        invalid_argument, naming the place, the key and what is allowed; all that is wrong
//                at once, one a line.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/base/time.h"

namespace deadman::config {

/// Where a value came from.
enum class Origin { fallback, file, environment, flag };

std::string_view origin_name(Origin origin);

struct WorkerConfig {
    std::string name; // empty: the caller makes one from the host's name
    int slots = 1;
    int prefetch = 2;
    std::vector<std::string> queues;
    base::Duration drain_grace{};
};

struct LeaseConfig {
    base::Duration lease{};
    base::Duration heartbeat{};
    base::Duration sweep{};
    base::Duration hint_heartbeat{};
    base::Duration hint_grace{};
};

struct LimitsConfig {
    std::size_t max_payload_bytes = 0;
    std::size_t max_result_bytes = 0;
    std::size_t max_output_bytes = 0;
    base::Duration retention{};
    int max_crashes = 0; // 0: a job is never quarantined
};

struct ExecHandler {
    std::vector<std::string> command;
    std::optional<base::Duration> timeout; // none: the job's own alone counts
    std::string working_directory;         // empty: the worker's
    std::map<std::string, std::string> environment;
    base::Duration kill_grace{};
};

struct HttpHandler {
    std::string url;
    std::string secret_file; // empty: requests are not signed
    base::Duration timeout{};
    bool allow_private_addresses = false;
    int max_redirects = 0;
};

/// Always transactional: the statement and the job's end commit together.
struct SqlHandler {
    std::string statement;
};

using HandlerConfig = std::variant<ExecHandler, HttpHandler, SqlHandler>;

/// One value as `config show` prints it.
struct Shown {
    std::string section;
    std::string name;
    std::string text; // as TOML; passwords masked
    Origin origin = Origin::fallback;
    std::string where; // "deadman.toml:12", "DEADMAN_SLOTS", "--slots"
};

struct Config {
    std::string data_dir;
    std::string store;  // sqlite:PATH, postgres://...
    std::string listen; // host:port
    std::string token_file;
    std::vector<std::string> hosts; // beside the address that it listens on
    std::string log_level;
    std::string log_format;
    WorkerConfig worker;
    LeaseConfig lease;
    LimitsConfig limits;
    std::map<std::string, HandlerConfig> handlers; // by kind

    std::vector<Shown> shown;
    std::string file; // that was read; empty: none

    /// REQUIRES: `key` is an option's, such as "lease.lease".
    Origin origin_of(std::string_view key) const;
};

struct FileText {
    std::string path;
    std::string text;

    friend bool operator==(const FileText&, const FileText&) = default;
};

struct Sources {
    std::map<std::string, std::string> flags; // by Option::flag; those given
    std::map<std::string, std::string> environment;
    std::optional<FileText> file;
    int cores = 1;
};

base::Result<Config> resolve(const Sources& sources);

/// `path` if it is not empty (it must exist then), else ./deadman.toml, else
/// /etc/deadman/deadman.toml, else nothing.
base::Result<std::optional<FileText>> read_file(const std::string& path);

} // namespace deadman::config

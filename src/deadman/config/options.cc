#include "deadman/config/option.h"

#include <algorithm>
#include <array>

#include "deadman/base/duration_text.h"

namespace deadman::config {
namespace {

constexpr std::int64_t ms = 1'000;
constexpr std::int64_t second = 1'000 * ms;
constexpr std::int64_t hour = 3'600 * second;
constexpr std::int64_t day = 24 * hour;
constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;

constexpr std::array table{
    Option{"", "data_dir", "data-dir", OptionType::path,
           "Folder for the embedded store and its files",
           "($STATE_DIRECTORY, else $XDG_DATA_HOME/deadman, else ~/.local/share/deadman)",
           "/var/lib/deadman"},
    Option{"", "store", "store", OptionType::text,
           "Where the truth is kept: sqlite:PATH or postgres://USER@HOST/DATABASE",
           "(sqlite:DATA_DIR/deadman.db)", "sqlite:/var/lib/deadman/deadman.db"},
    Option{"", "listen", "listen", OptionType::address,
           "Address of the HTTP API; one that is not loopback needs token_file", "127.0.0.1:7350",
           ""},
    Option{"", "token_file", "token-file", OptionType::path,
           "File with the bearer token that API calls must carry", "(none)", "/etc/deadman/token"},
    Option{"", "hosts", "hosts", OptionType::list,
           "More names that clients may reach the API under, such as that of a proxy with TLS",
           "(none)", "jobs.example.com", 1, 100},
    Option{"", "log_level", "log-level", OptionType::choice, "The least level that is logged",
           "info", "", 0, 0, "debug|info|warn|error"},
    Option{"", "log_format", "log-format", OptionType::choice,
           "Lines for people or JSON lines for machines", "console", "", 0, 0, "console|json"},

    Option{"worker", "name", "worker-name", OptionType::text,
           "Name of this worker, for people; need not be unique", "(the host's name)", "mail-1"},
    Option{"worker", "slots", "slots", OptionType::integer, "How many jobs run at once",
           "(twice the cores)", "8", 1, 10'000},
    Option{"worker", "prefetch", "prefetch", OptionType::integer,
           "How many claimed jobs may wait for a slot",
           "(twice the slots, more while runs are short)", "16", 0, 100'000},
    Option{"worker", "queues", "queues", OptionType::list, "Queues to take jobs from", "default",
           "", 1, 1'000},
    Option{"worker", "drain_grace", "drain-grace", OptionType::duration,
           "How long running jobs may go on after the signal to stop", "30s", "", 0, day},

    Option{"lease", "lease", "lease", OptionType::duration,
           "How long a silent worker keeps its jobs; the same for every process on one store", "8s",
           "", 500 * ms, hour},
    Option{"lease", "heartbeat", "heartbeat", OptionType::duration,
           "How often a worker renews; at most half of lease", "(a quarter of lease)", "2s",
           10 * ms, hour},
    Option{"lease", "sweep", "sweep", OptionType::duration,
           "How often lapsed leases are looked for; three times this and heartbeat are less than "
           "lease",
           "(an eighth of lease)", "1s", 10 * ms, hour},
    Option{"lease", "hint_heartbeat", "hint-heartbeat", OptionType::duration,
           "How often a worker renews whose death the store can see; at most half of hint_grace",
           "(a sixteenth of lease)", "500ms", 10 * ms, hour},
    Option{"lease", "hint_grace", "hint-grace", OptionType::duration,
           "How long such a worker keeps its jobs once it looks dead; at most lease",
           "(a quarter of lease)", "2s", 10 * ms, hour},

    Option{"limits", "max_payload", "max-payload", OptionType::bytes, "Largest payload of a job",
           "1MiB", "", 2, 256 * mib},
    Option{"limits", "max_result", "max-result", OptionType::bytes, "Largest result that is kept",
           "64KiB", "", 0, 64 * mib},
    Option{
        "limits", "max_output", "max-output", OptionType::bytes,
        "How much is kept of a run's output, whether it failed or not: of a command's stdout and "
        "stderr together, counted as it wrote them, head and tail if they are longer; of an http "
        "answer the head of its body",
        "64KiB", "", 0, 2 * mib},
    Option{"limits", "retention", "retention", OptionType::duration,
           "How long finished jobs are kept", "14d", "", second, 3'652 * day},
    Option{"limits", "max_crashes", "max-crashes", OptionType::integer,
           "A job that was alone in so many workers that died is quarantined; 0: never", "3", "", 0,
           1'000},
};

constexpr std::array exec_table{
    Option{"exec", "command", "", OptionType::list,
           "Program and arguments, no shell; the payload comes on standard input", "",
           "/usr/local/bin/resize,--fast", 1, 1'000, "", true},
    Option{"exec", "timeout", "", OptionType::duration,
           "Limit on one run beside the job's own; the shorter counts", "(the job's own)", "5m", ms,
           365 * day},
    Option{"exec", "working_directory", "", OptionType::path, "Folder the program starts in",
           "(the worker's)", "/srv/images"},
    Option{
        "exec", "environment", "", OptionType::table,
        "Variables of the program, beside a few of the worker's (PATH, HOME and the like) and "
        "those "
        "of the run: DEADMAN_JOB_ID, _FENCE, _RUN_KEY, _ATTEMPT, _KIND, _QUEUE, _IDEMPOTENCY_KEY, "
        "_DEADLINE",
        "(none)", "LANG=C.UTF-8"},
    Option{"exec", "kill_grace", "", OptionType::duration,
           "From asking the program to stop to killing it", "5s", "", 0, hour},
};

constexpr std::array http_table{
    Option{"http", "url", "", OptionType::text, "Where jobs are posted to", "",
           "https://example.com/jobs", 0, 0, "", true},
    Option{"http", "secret_file", "", OptionType::path,
           "File with the key that signs requests: whsec_ and 16 to 64 bytes in base64",
           "(requests are not signed)", "/etc/deadman/hook.key"},
    Option{"http", "timeout", "", OptionType::duration,
           "Limit on one request with all its redirects", "30s", "", ms, day},
    Option{"http", "allow_private_addresses", "", OptionType::boolean,
           "Whether the URL may lead to loopback, private or link-local addresses", "false", ""},
    Option{"http", "max_redirects", "", OptionType::integer, "Redirects that are followed", "5", "",
           0, 20},
};

constexpr std::array sql_table{
    Option{"sql", "statement", "", OptionType::text,
           "Run in the transaction that ends the job; :payload, :job_id, :fence and :attempt stand "
           "for "
           "what they name",
           "", "insert into mail (job, body) values (:job_id, :payload)", 0, 0, "", true},
};

std::string bytes_text(std::int64_t bytes) {
    if (bytes != 0 && bytes % mib == 0)
        return std::to_string(bytes / mib) + "MiB";
    if (bytes != 0 && bytes % kib == 0)
        return std::to_string(bytes / kib) + "KiB";
    return std::to_string(bytes);
}

std::string range(const std::string& least, const std::string& most) {
    return " from " + least + " to " + most;
}

std::string choices_text(std::string_view choices) {
    std::string text;
    for (const char c : choices)
        text += c == '|' ? std::string("\", \"") : std::string(1, c);
    return "one of \"" + text + "\"";
}

} // namespace

std::span<const Option> options() {
    return table;
}

std::span<const Option> handler_options(std::string_view type) {
    if (type == "exec")
        return exec_table;
    if (type == "http")
        return http_table;
    if (type == "sql")
        return sql_table;
    return {};
}

std::string key_of(const Option& option) {
    return option.section.empty() ? std::string(option.name)
                                  : std::string(option.section) + "." + std::string(option.name);
}

std::string variable_of(const Option& option) {
    if (option.flag.empty())
        return {};
    std::string name = "DEADMAN_";
    for (const char c : option.flag)
        name += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
    return name;
}

std::string allowed(const Option& option) {
    switch (option.type) {
    case OptionType::text:
    case OptionType::path:
        return "text that is not empty";
    case OptionType::address:
        return "HOST:PORT such as \"127.0.0.1:7350\"";
    case OptionType::choice:
        return choices_text(option.choices);
    case OptionType::boolean:
        return "true or false";
    case OptionType::integer:
        return "a whole number" + range(std::to_string(option.least), std::to_string(option.most));
    case OptionType::bytes:
        return "a size such as \"64KiB\"" +
               range(bytes_text(option.least), bytes_text(option.most));
    case OptionType::duration:
        return "a duration such as \"90s\"" +
               range(base::format_duration(base::Duration{option.least}),
                     base::format_duration(base::Duration{option.most}));
    case OptionType::list:
        return "a list of texts" +
               range(std::to_string(option.least), std::to_string(option.most)) + " entries";
    case OptionType::table:
        return "a table of texts such as {LANG = \"C\"}";
    }
    return {};
}

} // namespace deadman::config

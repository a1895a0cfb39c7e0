// Goal: each setting comes from the strongest source that names it, and what is wrong is refused
// with its place, its key and what is allowed.

#include "deadman/config/config.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "deadman/base/duration_text.h"
#include "deadman/config/option.h"
#include "deadman/domain/blame.h"
#include "deadman/domain/job.h"
#include "deadman/domain/lease_terms.h"

namespace deadman::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Sources sources_with(std::string file_text) {
    Sources sources;
    sources.environment["HOME"] = "/users/ada";
    sources.cores = 4;
    sources.file = FileText{.path = "deadman.toml", .text = std::move(file_text)};
    return sources;
}

Config resolved(const Sources& sources) {
    auto config = resolve(sources);
    if (!config)
        ADD_FAILURE() << config.error().message;
    return config.value_or(Config{});
}

std::string refusal(const Sources& sources) {
    const auto config = resolve(sources);
    if (config)
        return "accepted";
    EXPECT_EQ(config.error().code, base::ErrorCode::invalid_argument);
    return config.error().message;
}

TEST(Config, DefaultsAreThoseOfTheDesign) {
    const Config config = resolved(sources_with(""));
    EXPECT_EQ(config.data_dir, "/users/ada/.local/share/deadman");
    EXPECT_EQ(config.store, "sqlite:/users/ada/.local/share/deadman/deadman.db");
    EXPECT_EQ(config.listen, "127.0.0.1:7350");
    EXPECT_EQ(config.token_file, "");
    EXPECT_EQ(config.log_level, "info");
    EXPECT_EQ(config.worker.slots, 8);
    EXPECT_EQ(config.worker.prefetch, 16);
    EXPECT_THAT(config.worker.queues, ElementsAre(std::string(domain::default_queue)));
    EXPECT_EQ(config.worker.drain_grace, 30s);
    EXPECT_EQ(config.limits.max_payload_bytes, domain::default_max_payload_bytes);
    EXPECT_EQ(config.limits.max_result_bytes, 64U << 10);
    EXPECT_EQ(config.limits.max_output_bytes, 64U << 10);
    EXPECT_EQ(config.limits.retention, domain::default_retention);
    EXPECT_EQ(config.limits.max_crashes, domain::default_max_crashes);
}

TEST(Config, ALeaseAloneScalesTheOtherTimesAsTheDomainDoes) {
    for (const base::Duration lease : {base::Duration(8s), base::Duration(2s)}) {
        Sources sources = sources_with("");
        sources.flags["lease"] = lease == 8s ? "8s" : "2s";
        const LeaseConfig config = resolved(sources).lease;
        const auto terms = domain::LeaseTerms::scaled_to(lease);
        EXPECT_EQ(config.lease, terms.lease);
        EXPECT_EQ(config.heartbeat, terms.heartbeat);
        EXPECT_EQ(config.sweep, terms.sweep);
        EXPECT_EQ(config.hint_heartbeat, terms.hint_heartbeat);
        EXPECT_EQ(config.hint_grace, terms.hint_grace);
    }
}

TEST(Config, FlagOverEnvironmentOverFileOverDefault) {
    Sources sources = sources_with("[worker]\nslots = 3\n");
    EXPECT_EQ(resolved(sources).worker.slots, 3);
    EXPECT_EQ(resolved(sources).origin_of("worker.slots"), Origin::file);
    EXPECT_EQ(resolved(sources).worker.prefetch, 6);
    EXPECT_EQ(resolved(sources).origin_of("worker.prefetch"), Origin::fallback);
    sources.environment["DEADMAN_SLOTS"] = "5";
    EXPECT_EQ(resolved(sources).worker.slots, 5);
    EXPECT_EQ(resolved(sources).origin_of("worker.slots"), Origin::environment);
    sources.flags["slots"] = "7";
    EXPECT_EQ(resolved(sources).worker.slots, 7);
    EXPECT_EQ(resolved(sources).origin_of("worker.slots"), Origin::flag);
}

TEST(Config, EveryOptionCanBeSetByItsFlagAndItsVariable) {
    for (const Option& option : options()) {
        const bool worked_out = option.fallback.starts_with('(');
        const std::string value(worked_out ? option.example : option.fallback);
        SCOPED_TRACE(key_of(option) + " = " + value);
        Sources by_flag = sources_with("");
        by_flag.flags[std::string(option.flag)] = value;
        EXPECT_EQ(resolved(by_flag).origin_of(key_of(option)), Origin::flag);
        Sources by_variable = sources_with("");
        by_variable.environment[variable_of(option)] = value;
        EXPECT_EQ(resolved(by_variable).origin_of(key_of(option)), Origin::environment);
    }
}

TEST(Config, AllThatIsWrongIsToldAtOnceInTheOrderOfTheFile) {
    Sources sources = sources_with("log_level = \"loud\"\n"
                                   "lissten = \"127.0.0.1:1\"\n"
                                   "[worker]\n"
                                   "slots = 0\n"
                                   "[handlers.a]\n"
                                   "type = \"exec\"\n"
                                   "comand = [\"/bin/true\"]\n"
                                   "[handlers.b]\n"
                                   "[lease]\n"
                                   "lease = \"soon\"\n");
    sources.environment["DEADMAN_RETENTION"] = "long";
    const std::string told = refusal(sources);
    std::vector<std::string> lines;
    for (std::size_t from = 0; from <= told.size();) {
        const std::size_t to = std::min(told.find('\n', from), told.size());
        lines.push_back(told.substr(from, to - from));
        from = to + 1;
    }
    EXPECT_THAT(lines,
                ElementsAre(StartsWith("DEADMAN_RETENTION: limits.retention must be"),
                            StartsWith("deadman.toml:1: log_level must be one of"),
                            StartsWith("deadman.toml:2: unknown key 'lissten'; did you mean"),
                            StartsWith("deadman.toml:4: worker.slots must be a whole"),
                            StartsWith("deadman.toml:5: handlers.a: command is missing"),
                            StartsWith("deadman.toml:7: handlers.a: unknown key 'comand'"),
                            StartsWith("deadman.toml:8: handlers.b: type is missing"),
                            StartsWith("deadman.toml:10: lease.lease must be a duration")));
}

TEST(Config, DataFolderFollowsItsRule) {
    Sources sources = sources_with("");
    sources.environment["XDG_DATA_HOME"] = "/data";
    EXPECT_EQ(resolved(sources).data_dir, "/data/deadman");
    sources.environment["XDG_DATA_HOME"] = "relative";
    EXPECT_EQ(resolved(sources).data_dir, "/users/ada/.local/share/deadman");
    sources.environment["STATE_DIRECTORY"] = "/var/lib/deadman:/var/lib/other";
    EXPECT_EQ(resolved(sources).data_dir, "/var/lib/deadman");
    sources.flags["data-dir"] = "/tmp/x";
    EXPECT_EQ(resolved(sources).store, "sqlite:/tmp/x/deadman.db");
    EXPECT_THAT(refusal(Sources{}), HasSubstr("give --data-dir"));
}

TEST(Config, ReadsEverySectionOfAFile) {
    const Config config = resolved(sources_with(R"toml(
store = "postgres://app@db/jobs"
[worker]
name = "mail-1"
queues = ["mail", "default"]
[lease]
lease = "4s"
heartbeat = "500ms"
[limits]
max_payload = "2MiB"
max_output = 1000
retention = "30d"
)toml"));
    EXPECT_EQ(config.store, "postgres://app@db/jobs");
    EXPECT_EQ(config.worker.name, "mail-1");
    EXPECT_THAT(config.worker.queues, ElementsAre("mail", "default"));
    EXPECT_EQ(config.lease.lease, 4s);
    EXPECT_EQ(config.lease.heartbeat, 500ms);
    EXPECT_EQ(config.lease.sweep, 500ms);
    EXPECT_EQ(config.limits.max_payload_bytes, std::size_t{2} << 20);
    EXPECT_EQ(config.limits.max_output_bytes, 1000U);
    EXPECT_EQ(config.limits.retention, 24h * 30);
}

TEST(Config, ReadsHandlersOfEachType) {
    const Config config = resolved(sources_with(R"toml(
[handlers.resize]
type = "exec"
command = ["/usr/bin/resize", "", "--fast"]
timeout = "2m"
working_directory = "/srv"
environment = {LANG = "C", A = ""}
kill_grace = "1s"
[handlers."order.notify"]
type = "http"
url = "https://example.com/hook"
allow_private_addresses = true
[handlers.archive]
type = "sql"
statement = "insert into t values ($1)"
[handlers.plain]
type = "exec"
command = ["true"]
)toml"));
    ASSERT_EQ(config.handlers.size(), 4U);
    const auto& exec = std::get<ExecHandler>(config.handlers.at("resize"));
    EXPECT_THAT(exec.command, ElementsAre("/usr/bin/resize", "", "--fast"));
    EXPECT_EQ(exec.timeout, base::Duration(2min));
    EXPECT_EQ(exec.working_directory, "/srv");
    EXPECT_EQ(exec.environment.at("LANG"), "C");
    EXPECT_EQ(exec.kill_grace, 1s);
    const auto& http = std::get<HttpHandler>(config.handlers.at("order.notify"));
    EXPECT_EQ(http.url, "https://example.com/hook");
    EXPECT_EQ(http.timeout, 30s);
    EXPECT_EQ(http.max_redirects, 5);
    EXPECT_TRUE(http.allow_private_addresses);
    EXPECT_EQ(http.secret_file, "");
    EXPECT_EQ(std::get<SqlHandler>(config.handlers.at("archive")).statement,
              "insert into t values ($1)");
    const auto& plain = std::get<ExecHandler>(config.handlers.at("plain"));
    EXPECT_EQ(plain.timeout, std::nullopt);
    EXPECT_EQ(plain.kill_grace, 5s);
}

struct Bad {
    const char* text;
    std::vector<const char*> says;
};

class RefusesFile : public testing::TestWithParam<Bad> {};

TEST_P(RefusesFile, NamingLineAndRemedy) {
    const std::string message = refusal(sources_with(GetParam().text));
    for (const char* part : GetParam().says)
        EXPECT_THAT(message, HasSubstr(part));
}

INSTANTIATE_TEST_SUITE_P(
    Config, RefusesFile,
    testing::Values(
        Bad{"\nlistn = \"x\"", {"deadman.toml:2: unknown key 'listn'", "did you mean 'listen'?"}},
        Bad{"[worker]\nslot = 3", {"deadman.toml:2: unknown key 'slot' in [worker]", "'slots'"}},
        Bad{"[wroker]\nslots = 3", {"deadman.toml:1: unknown section [wroker]", "'worker'"}},
        Bad{"slots = 3", {"deadman.toml:1: unknown key 'slots'"}},
        Bad{"worker = 3", {"deadman.toml:1: 'worker' is a section: write [worker]"}},
        Bad{"[[worker]]\nslots = 1", {"'worker' is a section: write [worker]"}},
        Bad{"[listen]\nhost = \"x\"", {"unknown section [listen]"}},
        Bad{"[worker]\nslots = 0", {"deadman.toml:2: worker.slots", "from 1 to 10000", "is '0'"}},
        Bad{"[worker]\nslots = \"3\"", {"deadman.toml:2: worker.slots", "a whole number"}},
        Bad{"[worker]\nslots = 3.5", {"worker.slots", "a whole number"}},
        Bad{"[worker]\nqueues = []", {"worker.queues", "a list of texts from 1 to 1000"}},
        Bad{"[worker]\nqueues = [\"a\", 3]", {"worker.queues", "a list of texts"}},
        Bad{"[worker]\nqueues = \"a\"", {"worker.queues", "a list of texts"}},
        Bad{"[lease]\nlease = 8",
            {"lease.lease must be a duration such as \"90s\" from 500ms to 1h"}},
        Bad{"[lease]\nlease = \"8\"", {"deadman.toml:2: lease.lease", "is '8'"}},
        Bad{"[lease]\nlease = \"-8s\"", {"lease.lease"}},
        Bad{"[lease]\nheartbeat = \"5s\"", {"heartbeat must be at most half of lease"}},
        Bad{"[lease]\nhint_grace = \"9s\"", {"hint_grace must be at most lease"}},
        Bad{"[lease]\nhint_heartbeat = \"1500ms\"", {"at least two hint heartbeats"}},
        Bad{"[lease]\nsweep = \"2s\"", {"three sweeps and a heartbeat must be shorter"}},
        Bad{"[limits]\nmax_payload = \"1TiB\"", {"limits.max_payload", "from 2 to 256MiB"}},
        Bad{"[limits]\nmax_payload = \"99999999999GiB\"", {"limits.max_payload"}},
        Bad{"[limits]\nmax_payload = -1", {"limits.max_payload"}},
        Bad{"log_level = \"loud\"",
            {"one of \"debug\", \"info\", \"warn\", \"error\"", "is 'loud'"}},
        Bad{"log_level = \"debug|info\"", {"log_level"}}, Bad{"listen = \"7350\"", {"HOST:PORT"}},
        Bad{"listen = \"127.0.0.1:70000\"", {"HOST:PORT"}},
        Bad{"listen = \"::1:7350\"", {"HOST:PORT"}},
        Bad{"store = \"\"", {"store must be text that is not empty"}},
        Bad{"store = \"a\nb", {"deadman.toml:1: not valid TOML"}},
        Bad{"listen = \"a:1\"\nlisten = \"b:1\"", {"deadman.toml:2: not valid TOML"}},
        Bad{"a = \"\xFF\"", {"not valid TOML"}},
        Bad{"handlers = 3", {"deadman.toml:1: 'handlers' is a section"}},
        Bad{"[handlers]\nx = 3", {"deadman.toml:2", "[handlers.NAME]"}},
        Bad{"[handlers.x]\ncommand = [\"a\"]", {"deadman.toml:1: handlers.x: type is missing"}},
        Bad{"[handlers.x]\ntype = \"shell\"",
            {"deadman.toml:2: handlers.x.type", "exec, http, sql"}},
        Bad{"[handlers.x]\ntype = \"exec\"", {"handlers.x: command is missing"}},
        Bad{"[handlers.x]\ntype = \"exec\"\ncommand = []", {"handlers.x.command"}},
        Bad{"[handlers.x]\ntype = \"exec\"\ncommand = [\"\"]", {"handlers.x.command"}},
        Bad{"[handlers.x]\ntype = \"exec\"\ncomand = [\"a\"]",
            {"deadman.toml:3: handlers.x: unknown key 'comand'", "'command'"}},
        Bad{"[handlers.x]\ntype = \"sql\"\nurl = \"u\"", {"unknown key 'url' of type sql"}},
        Bad{"[handlers.x]\ntype = \"http\"\nurl = \"ftp://a\"", {"deadman.toml:3: handlers.x.url"}},
        Bad{"[handlers.x]\ntype = \"http\"\nurl = \"http://a\"\nmax_redirects = 21",
            {"deadman.toml:4: handlers.x.max_redirects"}},
        Bad{"[handlers.x]\ntype = \"exec\"\ncommand = [\"a\"]\nenvironment = {A = 1}",
            {"handlers.x.environment", "a table of texts"}},
        Bad{"[handlers.\"a b\"]\ntype = \"sql\"\nstatement = \"s\"",
            {"a handler's name is a job kind"}}));

RC_GTEST_PROP(ConfigProperty, AcceptsNoLeaseTermsThatTheDomainRefuses, ()) {
    const auto part = [] {
        return base::format_duration(base::Duration{*rc::gen::inRange(10'000, 4'000'000)});
    };
    Sources sources = sources_with("");
    for (const char* flag : {"heartbeat", "sweep", "hint-heartbeat", "hint-grace"})
        if (*rc::gen::arbitrary<bool>())
            sources.flags[flag] = part();
    const auto config = resolve(sources);
    if (!config)
        return;
    const LeaseConfig& lease = config->lease;
    RC_ASSERT(domain::validate_terms({.lease = lease.lease,
                                      .heartbeat = lease.heartbeat,
                                      .sweep = lease.sweep,
                                      .hint_heartbeat = lease.hint_heartbeat,
                                      .hint_grace = lease.hint_grace})
                  .has_value());
}

TEST(Config, BadFlagsAndVariablesAreNamed) {
    Sources sources = sources_with("");
    sources.environment["DEADMAN_LOG_LEVEL"] = "loud";
    EXPECT_THAT(refusal(sources), HasSubstr("DEADMAN_LOG_LEVEL: log_level must be one of"));
    sources.flags["log-level"] = "very loud";
    EXPECT_THAT(refusal(sources), HasSubstr("--log-level: log_level must be one of"));
    sources.flags = {{"log-levl", "info"}};
    EXPECT_THAT(refusal(sources),
                HasSubstr("unknown flag '--log-levl'; did you mean 'log-level'?"));
}

TEST(Config, FlagsAndVariablesAreDistinct) {
    std::vector<std::string> flags;
    for (const Option& option : options()) {
        flags.emplace_back(option.flag);
        EXPECT_FALSE(option.sentence.empty()) << key_of(option);
    }
    std::sort(flags.begin(), flags.end());
    EXPECT_EQ(std::adjacent_find(flags.begin(), flags.end()), flags.end());
}

TEST(Config, DeeplyNestedFilesAreRefusedNotFollowed) {
    EXPECT_THAT(refusal(sources_with("a = " + std::string(100'000, '['))),
                HasSubstr("not valid TOML"));
}

} // namespace
} // namespace deadman::config

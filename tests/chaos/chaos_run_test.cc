// Goal:   the headline, in short: hundreds of jobs under kill -9 and SIGSTOP, one effect each, on
// both
//         stores; and the proof can fail: a guard in two stores loses effects under the same
//         harness.
// Method: the real binary (DEADMAN_BINARY), as a user runs it; its report is read. Whether workers
// are
//         gone with a killed parent is seen through their process ids.

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <yyjson.h>

#include "apps/deadman/chaos/journal.h"
#include "apps/deadman/chaos/workload.h"
#include "deadman/platform/paths.h"
#include "deadman/platform/process.h"

namespace deadman::chaos_test {
namespace {

using namespace std::chrono_literals;

std::string binary() {
    const char* path = std::getenv("DEADMAN_BINARY");
    return path != nullptr ? path : "build/dev/bin/deadman";
}

class ReadReport {
  public:
    explicit ReadReport(const std::string& path)
        : text_(platform::read_file(path, 1 << 20).value_or("{}")),
          document_(yyjson_read(text_.data(), text_.size(), 0)) {}

    ReadReport(const ReadReport&) = delete;

    ~ReadReport() {
        yyjson_doc_free(document_);
    }

    std::int64_t count(const char* name) const {
        return yyjson_get_sint(yyjson_obj_get(yyjson_doc_get_root(document_), name));
    }

    double share() const {
        return static_cast<double>(count("lapsed")) / static_cast<double>(count("runs"));
    }

    bool ok() const {
        return yyjson_get_bool(yyjson_obj_get(yyjson_doc_get_root(document_), "ok"));
    }

    const std::string& text() const {
        return text_;
    }

  private:
    std::string text_;
    yyjson_doc* document_;
};

class ChaosRun : public testing::Test {
  protected:
    platform::ChildProcess start(std::vector<std::string> arguments) {
        platform::SpawnOptions options;
        options.argv = {binary(), "chaos", "run", "--report", report_path()};
        options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
        options.stdout_to = platform::StreamTo::null;
        options.stderr_to = platform::StreamTo::null;
        auto child = platform::ChildProcess::spawn(options);
        if (!child)
            throw std::runtime_error(child.error().message);
        return std::move(*child);
    }

    int run(std::vector<std::string> arguments) {
        platform::ChildProcess child = start(std::move(arguments));
        const auto status = child.wait(200s);
        return status && status->code ? *status->code : -1;
    }

    const char* folder() const {
        return folder_.path().c_str();
    }

    std::string report_path() const {
        return folder_.path() + "/report.json";
    }

    std::string logs() const {
        return folder_.path() + "/logs";
    }

  private:
    platform::TemporaryDirectory folder_ =
        std::move(*platform::TemporaryDirectory::create("deadman-chaos-test"));
};

class ChaosRunOn : public ChaosRun, public testing::WithParamInterface<const char*> {};

TEST_P(ChaosRunOn, LosesAndDoublesNothing) {
    EXPECT_EQ(run({"--store", GetParam(), "--jobs", "500", "--kill-rate", "0.4", "--lease", "2s",
                   "--seed", "1", "--time-limit", "150s"}),
              0);
    const ReadReport report(report_path());
    SCOPED_TRACE(report.text());
    EXPECT_EQ(report.count("succeeded"), 500);
    EXPECT_EQ(report.count("effects"), 500);
    EXPECT_EQ(report.count("lost"), 0);
    EXPECT_EQ(report.count("duplicated"), 0);
    EXPECT_NEAR(report.share(), 0.4, 0.05);
    EXPECT_GT(report.count("kills_by_fate"), 0);
    EXPECT_GT(report.count("kills"), report.count("kills_by_fate"));
    EXPECT_GT(report.count("pauses"), 0);
    EXPECT_TRUE(report.ok());
}

// DECISIONS 012: the mark is in another store than the effect, so a kill between the two loses it.
TEST_P(ChaosRunOn, SeesAGuardInTwoStoresLoseEffects) {
    EXPECT_EQ(run({"--store", GetParam(), "--guard", "two-stores", "--logs", logs(), "--jobs",
                   "500", "--lease", "2s", "--seed", "1", "--time-limit", "150s"}),
              1);
    const ReadReport report(report_path());
    SCOPED_TRACE(report.text());
    EXPECT_GE(report.count("lost"), 1);
    EXPECT_LT(report.count("effects"), 500);
    EXPECT_EQ(report.count("succeeded"), 500);
    EXPECT_FALSE(report.ok());
}

INSTANTIATE_TEST_SUITE_P(Stores, ChaosRunOn, testing::Values("sqlite:auto", "postgres:auto"),
                         [](const auto& store) {
                             return std::string(store.index == 0 ? "Sqlite" : "Postgres");
                         });

TEST_F(ChaosRun, ReportsQuarantinedJobsAsNeitherLostNorDoubled) {
    // A death with one run in hand is a crash, and one is enough. So many die here that four to
    // twelve jobs are left to run alone and die once more.
    EXPECT_EQ(
        run({"--jobs", "200", "--workers", "3", "--slots", "1", "--max-crashes", "1", "--kill-rate",
             "0.65", "--pauses", "0", "--lease", "2s", "--seed", "3", "--time-limit", "100s"}),
        0);
    const ReadReport report(report_path());
    SCOPED_TRACE(report.text());
    EXPECT_GT(report.count("quarantined"), 0);
    EXPECT_EQ(report.count("quarantined") + report.count("succeeded"), 200);
    EXPECT_EQ(report.count("effects"), report.count("succeeded"));
    EXPECT_EQ(report.count("lost"), 0);
}

TEST_F(ChaosRun, KillsNobodyAtRateZero) {
    EXPECT_EQ(run({"--jobs", "50", "--kill-rate", "0", "--lease", "2s", "--time-limit", "60s"}), 0);
    const ReadReport report(report_path());
    EXPECT_EQ(report.count("effects"), 50);
    EXPECT_EQ(report.count("kills"), 0);
    EXPECT_EQ(report.count("pauses"), 0);
}

TEST_F(ChaosRun, RefusesWhatItCannotDo) {
    EXPECT_EQ(run({"--store", "memory:"}), 2);
    EXPECT_EQ(run({"--store", "nonsense"}), 2);
    EXPECT_EQ(run({"--kill-rate", "1.5"}), 2);
    EXPECT_EQ(run({"--guard", "none"}), 2);
    EXPECT_EQ(run({"--lease", "-2s"}), 2);
    EXPECT_EQ(run({"--lease", "100ms"}), 2);
}

TEST_F(ChaosRun, EndsWithItsTimeLimitAndSaysWhatIsNotFinished) {
    EXPECT_EQ(run({"--jobs", "300", "--work", "2s", "--lease", "2s", "--time-limit", "3s", "--logs",
                   logs()}),
              1);
    const ReadReport report(report_path());
    EXPECT_GT(report.count("unfinished"), 0);
    EXPECT_EQ(report.count("lost"), 0) << "the store still has them";
    EXPECT_FALSE(report.ok());
}

TEST_F(ChaosRun, TakesItsWorkersWithItWhenItIsKilled) {
    ASSERT_EQ(::setenv("TMPDIR", folder(), 1), 0); // it cannot clean up
    platform::ChildProcess parent = start(
        {"--jobs", "300", "--work", "100ms", "--pauses", "0", "--lease", "2s", "--logs", logs()});
    std::set<int> workers;
    chaos::JournalReader reader(chaos::journal_path(logs()));
    while (workers.size() < 3 && !parent.poll()) {
        for (const auto& entry : reader.read_new())
            workers.insert(entry.pid);
        ::poll(nullptr, 0, 10);
    }
    ASSERT_GE(workers.size(), 3U);
    std::vector<int> handles;
    for (const int pid : workers)
        if (const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)); handle >= 0)
            handles.push_back(handle);
    ASSERT_FALSE(handles.empty());
    parent.signal_process(SIGKILL);
    for (const int handle : handles) {
        pollfd end{handle, POLLIN, 0};
        EXPECT_EQ(::poll(&end, 1, 20'000), 1) << "a worker outlived its parent";
        ::close(handle);
    }
    ::unsetenv("TMPDIR");
}

} // namespace
} // namespace deadman::chaos_test

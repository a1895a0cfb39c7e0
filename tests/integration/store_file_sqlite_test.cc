// The SQLite store and its file: left in one piece, moved away under a process, on a full disk.
//
// Goal:   what was acknowledged is where the operator looks for it; nothing is acknowledged that
//         would not be.
// Method: sqlite_fixture.h. The full disk is a small file system in memory that one child mounts
//         for itself; it needs the right to mount.

#include <cstring>
#include <fstream>

#include <sched.h>
#include <sys/mount.h>

#include "tests/integration/sqlite_fixture.h"

namespace deadman::integration {
namespace {

using namespace std::chrono_literals;

namespace fs = std::filesystem;

using base::ErrorCode;

const store::Finding* find(const std::vector<store::Finding>& findings, std::string_view name) {
    for (const store::Finding& finding : findings)
        if (finding.name == name)
            return &finding;
    return nullptr;
}

bool is_problem(const base::Result<std::vector<store::Finding>>& findings, std::string_view name) {
    const store::Finding* finding = findings ? find(*findings, name) : nullptr;
    return finding != nullptr && finding->severity == store::Finding::Severity::problem;
}

class SqliteFileTest : public SqliteStoreTest {
  protected:
    void expect_refused(store::JobStore& store) {
        const auto refused = store.enqueue(std::vector{spec()});
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
        EXPECT_NE(refused.error().message.find(options_.path), std::string::npos)
            << refused.error().message;
        const auto ready = store.readiness();
        ASSERT_FALSE(ready.has_value());
        EXPECT_EQ(ready.error().code, ErrorCode::unavailable);
    }

    void move_all(const std::string& to) {
        for (const char* suffix : {"-wal", "-shm", ""})
            fs::rename(options_.path + suffix, to + suffix);
    }
};

TEST_F(SqliteFileTest, LastProcessToStopLeavesAllInTheOneFile) {
    domain::JobId id;
    {
        const auto store = open();
        id = store->enqueue(std::vector{spec()})->at(0).id;
        const auto other = open(); // gone before
    }
    EXPECT_FALSE(fs::exists(options_.path + "-wal"));
    fs::copy_file(options_.path, folder_->path() + "/copy.db");
    options_.path = folder_->path() + "/copy.db";
    const auto copy = open();
    const auto job = copy->find(id);
    ASSERT_TRUE(job.has_value()) << job.error().message;
    ASSERT_TRUE(job->has_value());
    EXPECT_EQ((*job)->state, domain::JobState::pending);
}

TEST_F(SqliteFileTest, ProcessThatStopsBesideAnotherLeavesTheLogAlone) {
    const auto log_of = [&] { return fs::file_size(options_.path + "-wal"); };
    const auto file_bytes = fs::file_size(options_.path);
    const SharedLedger ledger;
    Child living([&](const auto& say_ready) {
        const auto store = open();
        say_ready();
        while (!ledger->is_over)
            nap(5ms);
        if (const auto answer = store->enqueue(std::vector{spec()}); !answer)
            ledger->fail("enqueue", answer.error());
    });
    ASSERT_TRUE(living.wait_ready());
    {
        const auto store = open();
        ASSERT_TRUE(store->enqueue(std::vector{spec()}).has_value());
    }
    EXPECT_GT(log_of(), 0U);
    EXPECT_EQ(fs::file_size(options_.path), file_bytes);
    ledger->is_over = true;
    EXPECT_EQ(living.wait(), 0);
    EXPECT_EQ(ledger->errors, 0) << ledger->first_error;
    EXPECT_FALSE(fs::exists(options_.path + "-wal"));
    EXPECT_EQ(ask("SELECT count(*) FROM deadman_ready"), "2");
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
}

TEST_F(SqliteFileTest, FileThatWasMovedAwayIsNotWrittenToUntilItIsBack) {
    const auto store = open();
    const auto session = store->register_session({.worker = "w"});
    ASSERT_TRUE(session.has_value());
    const domain::JobId id = store->enqueue(std::vector{spec()})->at(0).id;
    const auto claimed =
        store->claim(session->key, {.claim_no = 1, .queues = {"default"}, .max = 1});
    ASSERT_EQ(claimed->size(), 1U);
    const std::string away = folder_->path() + "/away.db";
    fs::rename(options_.path, away);
    expect_refused(*store);
    EXPECT_EQ(store->complete(session->key, std::vector{store::RunEnd{claimed->at(0).run, {}}})
                  .error()
                  .code,
              ErrorCode::unavailable);
    EXPECT_EQ(store
                  ->transact(session->key, claimed->at(0).run, "",
                             [](store::EffectTransaction&) { return base::Status{}; })
                  .error()
                  .code,
              ErrorCode::unavailable);
    EXPECT_FALSE(fs::exists(options_.path)) << "nobody makes a new one in its place";
    const auto second = store::SqliteJobStore::open(options_, clock_);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::conflict) << second.error().message;

    fs::rename(away, options_.path);
    EXPECT_TRUE(store->readiness().has_value());
    ASSERT_TRUE(store->enqueue(std::vector{spec()}).has_value());
    EXPECT_EQ(store->find(id)->value().state, domain::JobState::running);
    EXPECT_EQ(ask("SELECT count(*) FROM deadman_job"), "2");
}

TEST_F(SqliteFileTest, LogThatWasDeletedIsNotWrittenTo) {
    const auto store = open();
    ASSERT_TRUE(store->enqueue(std::vector{spec()}).has_value());
    fs::remove(options_.path + "-wal");
    expect_refused(*store);
}

TEST_F(SqliteFileTest, DoctorNamesProcessesThatWorkOnAFileThatIsNoLongerThere) {
    const auto before = open();
    ASSERT_TRUE(before->register_session({.worker = "w"}).has_value());
    EXPECT_FALSE(is_problem(before->examine(), "file_moved"));
    move_all(folder_->path() + "/away.db");
    const auto after = open();
    ASSERT_TRUE(after->migrate().has_value());
    expect_refused(*before);
    EXPECT_TRUE(is_problem(after->examine(), "file_moved"));
    ASSERT_TRUE(after->enqueue(std::vector{spec()}).has_value());
}

TEST_F(SqliteFileTest, ProcessesThatNameTheFileByALinkShareItsLocks) {
    fs::create_symlink(options_.path, folder_->path() + "/link.db");
    const auto store = open();
    options_.path = folder_->path() + "/link.db";
    const auto by_link = open();
    const auto leader = store->try_lead();
    ASSERT_TRUE(leader && *leader);
    EXPECT_EQ(by_link->try_lead().value(), nullptr);
    EXPECT_FALSE(fs::exists(options_.path + ".leader"));
}

/// A file system of 8 MiB at `folder`, seen by this process alone. Empty, or why not.
std::string mount_small_disk(const std::string& folder) {
    if (unshare(CLONE_NEWNS) != 0)
        return std::strerror(errno);
    // Refused where the root is no mount of its own: then it is private already.
    static_cast<void>(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=8m") != 0)
        return std::strerror(errno);
    return {};
}

void fill(const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
}

// What doctor and readiness say, and that it passes.
TEST_F(SqliteFileTest, FullDiskIsFoundAndNamedAndPasses) {
    const std::string folder = folder_->path() + "/small";
    fs::create_directory(folder);
    const SharedLedger ledger;
    Child child([&](const auto&) {
        const auto expect = [&](bool is_so, const char* what) {
            if (!is_so)
                ledger->fail(what, {});
        };
        if (const std::string problem = mount_small_disk(folder); !problem.empty())
            return ledger->fail("mount", base::fail(ErrorCode::internal, problem));
        options_.path = folder + "/deadman.db";
        const auto store = open();
        expect(store->migrate().has_value(), "migrate");
        expect(is_problem(store->examine(), "disk_room"), "nearly full is a problem");
        fill(folder + "/ballast");
        const auto refused = store->enqueue(std::vector<domain::JobSpec>(2'000, spec()));
        expect(!refused && refused.error().code == ErrorCode::exhausted, "enqueue: exhausted");
        expect(!refused && refused.error().message.find("disk") != std::string::npos,
               "enqueue: says disk");
        expect(is_problem(store->readiness(), "disk_room"), "readiness");
        expect(is_problem(store->examine(), "disk_room"), "examine");
        fs::remove(folder + "/ballast");
        expect(store->enqueue(std::vector{spec()}).has_value(), "enqueue once there is room");
        expect(!is_problem(store->readiness(), "disk_room"), "readiness once there is room");
    });
    EXPECT_EQ(child.wait(), 0);
    if (std::strstr(ledger->first_error, "mount") != nullptr)
        GTEST_SKIP() << ledger->first_error;
    EXPECT_EQ(ledger->errors, 0) << ledger->first_error;
}

} // namespace
} // namespace deadman::integration

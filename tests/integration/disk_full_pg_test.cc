// A server whose disk is full.
//
// Goal:   a clear error; what was acknowledged is there; everything works again once there is room.
// Method: a small file system in memory, mounted for this program alone: under the tables by a
//         tablespace, under the write-ahead log by a link. Needs the right to mount: as root.

#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deadman/base/random.h"
#include "tests/support/postgres_server.h"
#include "tests/support/postgres_store.h"
#include "tests/support/postgres_wire.h"

namespace deadman::test {
namespace {

using base::ErrorCode;

/// Gone with the program, whatever becomes of it: the rest of the system never sees it.
class SmallFileSystem {
  public:
    explicit SmallFileSystem(const std::string& size) {
        std::string pattern = testing::TempDir() + "deadman_full_XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
        if (::unshare(CLONE_NEWNS) != 0) {
            problem_ = std::strerror(errno);
            return;
        }
        // Refused where the root is no mount of its own: then it is private already.
        static_cast<void>(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
        if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, ("mode=755,size=" + size).c_str()) != 0)
            problem_ = std::strerror(errno);
        ::chmod(folder_.c_str(), 0755);
        give_to_server(folder_);
    }

    ~SmallFileSystem() {
        ::umount2(folder_.c_str(), MNT_DETACH);
        ::rmdir(folder_.c_str());
    }

    SmallFileSystem(const SmallFileSystem&) = delete;
    SmallFileSystem& operator=(const SmallFileSystem&) = delete;

    /// Why it is not there; empty where it is.
    const std::string& problem() const {
        return problem_;
    }

    const std::string& folder() const {
        return folder_;
    }

    void grow(const std::string& size) const {
        EXPECT_EQ(::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()),
                  0);
    }

    /// As root we run the server as `postgres`.
    static void give_to_server(const std::string& path) {
        const passwd* user = ::getpwnam("postgres");
        ASSERT_NE(user, nullptr);
        ASSERT_EQ(::lchown(path.c_str(), user->pw_uid, user->pw_gid), 0);
    }

  private:
    std::string folder_;
    std::string problem_;
};

class FullDisk : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "mounting a small file system needs root";
        disk = std::make_unique<SmallFileSystem>("48m");
        if (!disk->problem().empty())
            GTEST_SKIP() << "no small file system here: " << disk->problem();
        server = std::make_unique<store::PrivateServer>(value(store::PrivateServer::start(clock)));
    }

    void TearDown() override {
        store.reset();
        server.reset();
    }

    /// Enqueues until that fails; gives the error, and counts what was acknowledged.
    base::Error fill() {
        base::Random random(1);
        for (int i = 0; i < 200; ++i) {
            domain::JobSpec large{.kind = "work"};
            std::string text; // that does not compress
            while (text.size() < 100'000)
                text += std::to_string(random.next());
            large.payload = "\"" + text + "\"";
            const std::vector<domain::JobSpec> specs(10, large);
            const auto enqueued = store->enqueue(specs);
            if (!enqueued)
                return enqueued.error();
            acknowledged += static_cast<std::int64_t>(enqueued->size());
        }
        return {ErrorCode::internal, "it is never full"};
    }

    base::SystemClock clock;
    std::unique_ptr<SmallFileSystem> disk;
    std::unique_ptr<store::PrivateServer> server;
    std::unique_ptr<store::JobStore> store;
    std::int64_t acknowledged = 0;
};

TEST_F(FullDisk, UnderTheTablesRefusesWorkAndLosesNone) {
    PostgresWire c(server->url());
    c.run("create tablespace small location '" + disk->folder() + "'");
    c.run("create database small tablespace small");
    store = open_store(clock, server->url("small"));
    value(store->migrate());
    const auto session = open_session(*store);
    enqueue(*store, 1);
    acknowledged = 1;
    const auto claimed = value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}}));
    ASSERT_EQ(claimed.size(), 1u);

    const base::Error error = fill();
    EXPECT_EQ(error.code, ErrorCode::exhausted) << error.message;
    EXPECT_NE(error.message.find("No space left"), std::string::npos) << error.message;
    EXPECT_EQ(value(store->count_outstanding()), acknowledged) << "it can still be asked";
    EXPECT_EQ(value(store->find(claimed[0].run.job)).value().state, domain::JobState::running);

    disk->grow("200m");
    enqueue(*store, 1);
    const store::RunEnd end{claimed[0].run, {}};
    EXPECT_EQ(value(store->complete(session.key, {&end, 1})).at(0), domain::Verdict::ok);
    EXPECT_EQ(value(store->count_outstanding()), acknowledged);
}

// The server cannot go on and ends; it says so to nobody.
TEST_F(FullDisk, UnderTheLogEndsTheServerAndLosesNoWork) {
    PostgresWire c(server->url());
    const std::string log = c.one("show data_directory") + "/pg_wal";
    const std::string moved = disk->folder() + "/wal";
    server->stop();
    std::filesystem::copy(log, moved, std::filesystem::copy_options::recursive);
    SmallFileSystem::give_to_server(moved);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(moved))
        SmallFileSystem::give_to_server(entry.path());
    std::filesystem::remove_all(log);
    std::filesystem::create_symlink(moved, log);
    SmallFileSystem::give_to_server(log);
    value(server->start_again());
    store = open_store(clock, server->url());
    value(store->migrate());

    const base::Error error = fill();
    EXPECT_TRUE(error.code == ErrorCode::outcome_unknown || error.code == ErrorCode::unavailable ||
                error.code == ErrorCode::exhausted)
        << error.message;

    disk->grow("400m");
    value(server->start_again());
    ASSERT_TRUE(eventually([&] { return store->count_outstanding().has_value(); }));
    const std::int64_t there = value(store->count_outstanding());
    EXPECT_GE(there, acknowledged);
    EXPECT_LE(there, acknowledged + 10) << "the last call may have happened";
    enqueue(*store, 1);
    EXPECT_EQ(value(store->count_outstanding()), there + 1);
}

} // namespace
} // namespace deadman::test

// The SQLite store's log and file: how long they get, and who waits for them.
//
// Goal:   the log stays within a bound under a steady stream with readers, shrinks again after a
//         reader that held it, and pruned jobs leave room that is used again.
// Method: sqlite_fixture.h.

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/integration/sqlite_fixture.h"

namespace deadman::integration {
namespace {

using namespace std::chrono_literals;

class SqliteLogTest : public SqliteStoreTest {
  protected:
    static constexpr std::uintmax_t page = 4'096;

    /// Enqueues, claims and ends `jobs`, by batches.
    void pass_through(store::JobStore& store, int jobs, const std::function<void()>& after_each) {
        const auto session = store.register_session({.worker = "w"});
        ASSERT_TRUE(session.has_value());
        constexpr int batch = 500;
        for (std::int64_t claim_no = 1; jobs > 0; jobs -= batch, ++claim_no) {
            domain::JobSpec wanted = spec();
            wanted.payload = payload_;
            ASSERT_TRUE(store.enqueue(std::vector<domain::JobSpec>(batch, wanted)).has_value());
            const auto claimed = store.claim(
                session->key, {.claim_no = claim_no, .queues = {"default"}, .max = batch});
            ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
            std::vector<store::RunEnd> ends;
            for (const store::Claimed& job : *claimed)
                ends.push_back({job.run, {}});
            ASSERT_TRUE(store.complete(session->key, ends).has_value());
            after_each();
        }
        ASSERT_TRUE(store.end_session(session->key, "done").has_value());
    }

    std::string payload_ = spec().payload;

    std::int64_t pages() {
        return std::stoll(ask("PRAGMA page_count"));
    }
};

// Stated in docs/OPERATING.md: eight times the length at which it is copied back.
TEST_F(SqliteLogTest, LogStaysWithinItsBoundBesideReaders) {
    options_.checkpoint_pages = 500;
    const auto store = open();
    std::atomic<bool> is_over{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i)
        readers.emplace_back([&] {
            while (!is_over) {
                EXPECT_TRUE(store->list({.limit = 50}).has_value());
                EXPECT_TRUE(store->queues().has_value());
            }
        });
    std::uintmax_t longest = 0;
    pass_through(*store, 45'000, [&] { longest = std::max(longest, log_bytes()); });
    is_over = true;
    for (std::thread& reader : readers)
        reader.join();
    RecordProperty("longest_log_pages", std::to_string(longest / page));
    EXPECT_LT(longest, 8 * page * 500);
}

TEST_F(SqliteLogTest, LogOfASnapshotThatIsHeldShrinksOnceItIsLetGo) {
    options_.checkpoint_pages = 100;
    const auto store = open();
    sqlite3* reader = nullptr;
    sqlite3_open(options_.path.c_str(), &reader);
    sqlite3_db_config(reader, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM deadman_job", nullptr, nullptr, nullptr);
    pass_through(*store, 10'000, [] {});
    EXPECT_GT(log_bytes(), 8 * page * 100) << "the reader did not hold it";
    sqlite3_close(reader);
    const auto deadline = clock_.steady_now() + 30s;
    while (log_bytes() > 4 * page * 100 && clock_.steady_now() < deadline)
        pass_through(*store, 500, [] {});
    EXPECT_LE(log_bytes(), 4 * page * 100);
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
}

// Its row, its place in the line or its outcome, and all their indexes.
TEST_F(SqliteLogTest, JobWithAPayloadOf100BytesTakesAtMost600Waiting) {
    constexpr int jobs = 10'000;
    constexpr std::int64_t most_bytes = 600;
    domain::JobSpec job = spec();
    job.payload = "\"" + std::string(98, 'x') + "\"";
    const std::int64_t before = pages();
    const auto store = open();
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(store->enqueue(std::vector<domain::JobSpec>(jobs / 10, job)).has_value());
    const auto bytes_each = [&] { return (pages() - before) * std::int64_t{page} / jobs; };
    EXPECT_LE(bytes_each(), most_bytes);
    EXPECT_GE(bytes_each(), 100);
}

TEST_F(SqliteLogTest, JobWithAPayloadOf100BytesTakesAtMost600Finished) {
    constexpr int jobs = 10'000;
    payload_ = "\"" + std::string(98, 'x') + "\"";
    const std::int64_t before = pages();
    const auto store = open();
    pass_through(*store, jobs, [] {});
    EXPECT_EQ(ask("SELECT count(*) FROM deadman_done"), std::to_string(jobs));
    const std::int64_t free = std::stoll(ask("PRAGMA freelist_count"));
    const std::int64_t bytes_each = (pages() - before - free) * std::int64_t{page} / jobs;
    EXPECT_LE(bytes_each, 600);
    EXPECT_GE(bytes_each, 100);
}

TEST_F(SqliteLogTest, PrunedJobsLeaveRoomThatIsUsedAgain) {
    const auto store = open();
    pass_through(*store, 10'000, [] {});
    store::UpkeepRequest upkeep;
    upkeep.retention = 0s;
    upkeep.batch = 5'000;
    const auto prune = [&] {
        sweep_until(*store, upkeep, [&] { return ask("SELECT count(*) FROM deadman_job") == "0"; });
    };
    prune();
    const std::int64_t after_first = pages();
    for (int round = 0; round < 3; ++round) {
        pass_through(*store, 10'000, [] {});
        prune();
    }
    EXPECT_LT(pages(), after_first + after_first / 5);
}

} // namespace
} // namespace deadman::integration

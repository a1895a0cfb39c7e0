// Backups of a SQLite store that is in use.
//
// Goal:   the copy is the store at one moment, sound, and a store that goes on from there.
// Method: sqlite_fixture.h; the copying waits at its first steps until others have written.

#include <algorithm>
#include <fstream>
#include <thread>

#include "deadman/store/sqlite/sqlite_backup.h"
#include "tests/integration/sqlite_fixture.h"

namespace deadman::integration {
namespace {

using namespace std::chrono_literals;

namespace fs = std::filesystem;

using base::ErrorCode;

class SqliteBackupTest : public SqliteStoreTest {
  protected:
    std::string target() const {
        return folder_->path() + "/copy.db";
    }

    std::vector<std::string> files_of_the_target() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder_->path()))
            if (entry.path().filename().string().starts_with("copy.db"))
                names.push_back(entry.path().filename().string());
        return names;
    }

    void expect_refused(const std::string& path, ErrorCode code) {
        const auto report = store::back_up_sqlite(path, target());
        ASSERT_FALSE(report.has_value());
        EXPECT_EQ(report.error().code, code) << report.error().message;
    }
};

/// Enqueues one, claims some, ends half of those.
void work_a_little(store::JobStore& store, const store::SessionKey& key, std::int64_t claim_no,
                   Ledger& ledger) {
    const auto made = store.enqueue(std::vector{spec(), spec()});
    const auto claimed = store.claim(key, {.claim_no = claim_no, .queues = {"default"}, .max = 2});
    if (!made || !claimed)
        return ledger.fail("write", made ? claimed.error() : made.error());
    std::vector<store::RunEnd> ends;
    for (std::size_t i = 0; i < claimed->size(); i += 2)
        ends.push_back({claimed->at(i).run, {}});
    if (const auto verdicts = store.complete(key, ends); !verdicts)
        return ledger.fail("complete", verdicts.error());
    for (const store::Enqueued& answer : *made)
        ledger.is_acknowledged[answer.id.value] = 1;
    ledger.acknowledged += 2;
}

std::vector<std::int64_t> acknowledged_ids(const Ledger& ledger) {
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id < 200'000; ++id)
        if (ledger.is_acknowledged[id] != 0)
            ids.push_back(id);
    return ids;
}

TEST_F(SqliteBackupTest, CopyOfABusyStoreIsOneMomentAndDrains) {
    const SharedLedger ledger;
    Child busy([&](const auto& say_ready) {
        const auto store = open();
        const auto session = store->register_session({.worker = "busy"});
        say_ready();
        for (std::int64_t claim_no = 1; !ledger->is_over; ++claim_no)
            work_a_little(*store, session->key, claim_no, *ledger);
        pause(); // its leases stay
    });
    ASSERT_TRUE(busy.wait_ready());
    while (ledger->acknowledged < 400 && ledger->errors == 0)
        nap(1ms);
    const std::vector<std::int64_t> before = acknowledged_ids(*ledger);
    int steps = 0;
    store::SqliteBackupOptions options;
    options.pages_per_step = 8;
    options.on_progress = [&](std::uint64_t copied, std::uint64_t total) {
        EXPECT_LE(copied, total);
        const auto deadline = clock_.steady_now() + 20s;
        const std::int64_t seen = ledger->acknowledged;
        ++steps;
        while (steps <= 5 && ledger->acknowledged == seen && clock_.steady_now() < deadline)
            nap(1ms);
        return true;
    };
    const std::int64_t at_start = ledger->acknowledged;
    const auto report = store::back_up_sqlite(options_.path, target(), options);
    const std::int64_t at_end = ledger->acknowledged;
    ledger->is_over = true;
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(ledger->errors, 0) << ledger->first_error;
    EXPECT_GT(steps, 5);
    EXPECT_GE(at_end, at_start + 5) << "somebody waited for the backup";
    EXPECT_EQ(report->bytes, fs::file_size(target()));
    EXPECT_EQ(files_of_the_target(), std::vector<std::string>{"copy.db"});

    options_.path = target();
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(ask("SELECT count(*) FROM deadman_job"),
              ask("SELECT (SELECT count(*) FROM deadman_ready) + (SELECT count(*) FROM "
                  "deadman_later) + (SELECT count(*) FROM deadman_lease) + (SELECT count(*) FROM "
                  "deadman_done)"));
    const auto copy = open();
    for (const std::int64_t id : before)
        ASSERT_TRUE(copy->find({id})->has_value()) << id;

    // Nobody of the copy holds the leases in it.
    store::UpkeepRequest upkeep;
    upkeep.terms = domain::LeaseTerms::scaled_to(1s);
    ask("UPDATE deadman_session SET lease = 1000000");
    sweep_until(*copy, upkeep, [&] { return ask("SELECT count(*) FROM deadman_lease") == "0"; });
    const auto session = copy->register_session({.worker = "after"});
    ASSERT_TRUE(session.has_value());
    for (std::int64_t claim_no = 1;; ++claim_no) {
        const auto claimed =
            copy->claim(session->key, {.claim_no = claim_no, .queues = {"default"}, .max = 1'000});
        ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
        if (claimed->empty())
            break;
        std::vector<store::RunEnd> ends;
        for (const store::Claimed& job : *claimed)
            ends.push_back({job.run, {}});
        ASSERT_TRUE(copy->complete(session->key, ends).has_value());
    }
    EXPECT_EQ(copy->count_outstanding().value_or(-1), 0);
}

TEST_F(SqliteBackupTest, OverwritesNothing) {
    std::ofstream(target()) << "dear to somebody";
    expect_refused(options_.path, ErrorCode::already_exists);
    EXPECT_EQ(fs::file_size(target()), 16U);
    fs::rename(target(), target() + "-wal"); // it would be taken for the copy's
    expect_refused(options_.path, ErrorCode::already_exists);
    EXPECT_EQ(files_of_the_target(), std::vector<std::string>{"copy.db-wal"});
}

TEST_F(SqliteBackupTest, CopiesOnlyWhatIsAStore) {
    expect_refused(folder_->path() + "/nothing.db", ErrorCode::not_found);
    EXPECT_FALSE(fs::exists(folder_->path() + "/nothing.db"));
    options_.path = folder_->path() + "/other.db";
    ask("CREATE TABLE other (id INTEGER)");
    expect_refused(options_.path, ErrorCode::not_found);
    std::ofstream(folder_->path() + "/text") << std::string(5'000, 'x');
    expect_refused(folder_->path() + "/text", ErrorCode::invalid_argument);
    EXPECT_TRUE(files_of_the_target().empty());
}

TEST_F(SqliteBackupTest, OneThatIsGivenUpLeavesNothing) {
    store::SqliteBackupOptions options;
    options.pages_per_step = 1;
    options.on_progress = [](std::uint64_t, std::uint64_t) { return false; };
    const auto report = store::back_up_sqlite(options_.path, target(), options);
    ASSERT_FALSE(report.has_value());
    EXPECT_EQ(report.error().code, ErrorCode::cancelled);
    EXPECT_TRUE(files_of_the_target().empty());
}

TEST_F(SqliteBackupTest, DamageIsNotCopiedInSilence) {
    {
        const auto store = open();
        ASSERT_TRUE(store->enqueue(std::vector<domain::JobSpec>(500, spec())).has_value());
    }
    {
        std::fstream file(options_.path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(fs::file_size(options_.path)) - 4'096);
        file << std::string(4'096, 'x');
    }
    const auto report = store::back_up_sqlite(options_.path, target());
    ASSERT_FALSE(report.has_value());
    EXPECT_TRUE(files_of_the_target().empty());
}

} // namespace
} // namespace deadman::integration

// The contract suite on the SQLite store, under a simulated clock. A second handle is a second
// store object on the same file, which is what another process has.

#include <filesystem>
#include <fstream>

#include <sqlite3.h>

#include "deadman/store/sqlite/sqlite_job_store.h"
#include "tests/contract/job_store_contract.h"
#include "tests/contract/random_operations.h"

namespace deadman::contract {
namespace {

/// The database seen past the store, as a program of the app's sees it.
class Bystander {
  public:
    explicit Bystander(const std::string& path) {
        sqlite3_open(path.c_str(), &handle_);
        sqlite3_busy_timeout(handle_, 5'000);
        sqlite3_wal_autocheckpoint(handle_, 0);
        sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    }

    ~Bystander() {
        sqlite3_close(handle_);
    }

    Bystander(const Bystander&) = delete;
    Bystander& operator=(const Bystander&) = delete;

    bool run(const std::string& sql) {
        return sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
    }

    std::vector<std::string> column(const std::string& sql) {
        std::vector<std::string> values;
        const auto add = [](void* into, int, char** texts, char**) {
            static_cast<std::vector<std::string>*>(into)->emplace_back(texts[0] ? texts[0] : "");
            return 0;
        };
        sqlite3_exec(handle_, sql.c_str(), add, &values, nullptr);
        return values;
    }

  private:
    sqlite3* handle_ = nullptr;
};

class SqliteFixture final : public StoreFixture {
  public:
    ~SqliteFixture() override {
        second_.reset();
        store_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    base::Status open() override {
        std::string pattern = testing::TempDir() + "deadman_contract_XXXXXX";
        if (mkdtemp(pattern.data()) == nullptr)
            return base::fail(base::ErrorCode::unavailable, "no temporary folder");
        folder_ = pattern;
        DEADMAN_TRY(store_, store::SqliteJobStore::open(options(), clock_));
        DEADMAN_TRY(const auto migrated, store_->migrate());
        static_cast<void>(migrated);
        Bystander(path()).run("CREATE TABLE effect (label TEXT)");
        return {};
    }

    store::JobStore& store() override {
        return *store_;
    }

    store::JobStore* second_store() override {
        if (!second_)
            second_ = std::move(*store::SqliteJobStore::open(options(), clock_));
        return second_.get();
    }

    void advance(base::Duration by) override {
        clock_.advance(by);
    }

    base::Status write_effect(store::EffectTransaction& transaction,
                              const std::string& label) override {
        DEADMAN_TRY_STATUS(transaction.execute("INSERT INTO effect VALUES (?1)", {label}));
        return {};
    }

    std::vector<std::string> effects() override {
        return Bystander(path()).column("SELECT label FROM effect ORDER BY rowid");
    }

    // What the kernel does when the process dies: the file is there, and nobody holds it.
    bool make_lock_vanish(const store::SessionKey& session) override {
        const std::string lock = path() + ".sessions/" + std::to_string(session.id.value) + ".lock";
        return std::filesystem::remove(lock) && std::ofstream(lock).good();
    }

    bool forget_session(domain::SessionId id) override {
        return Bystander(path()).run("DELETE FROM deadman_session WHERE id = " +
                                     std::to_string(id.value));
    }

    bool raise_sequences(std::int64_t to) override {
        return Bystander(path()).run("UPDATE deadman_sequence SET value = max(value, " +
                                     std::to_string(to - 1) + ")");
    }

    StoreCapabilities capabilities() const override {
        return {.enters_in_transaction = false,
                .why = "the body of transact() holds the file's only write lock: writers wait "
                       "until it ends"};
    }

  private:
    std::string path() const {
        return folder_ + "/deadman.db";
    }

    store::SqliteOptions options() const {
        return {.path = path(), .durable = false};
    }

    std::string folder_;
    base::SimulatedClock clock_;
    std::unique_ptr<store::JobStore> store_;
    std::unique_ptr<store::JobStore> second_;
};

std::unique_ptr<StoreFixture> make_sqlite_fixture() {
    return std::make_unique<SqliteFixture>();
}

INSTANTIATE_TEST_SUITE_P(Sqlite, JobStoreContract,
                         testing::Values(StoreParam{"sqlite", make_sqlite_fixture}),
                         store_param_name);

INSTANTIATE_TEST_SUITE_P(Sqlite, RandomOperations,
                         testing::Values(RandomOperationsParam{.name = "sqlite",
                                                               .make = make_sqlite_fixture}),
                         random_operations_param_name);

} // namespace
} // namespace deadman::contract

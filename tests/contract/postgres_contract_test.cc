// The contract suite on Postgres, against a private server.

#include <pqxx/pqxx>

#include "deadman/store/postgres/postgres_job_store.h"
#include "tests/contract/job_store_contract.h"
#include "tests/contract/random_operations.h"
#include "tests/support/postgres_server.h"

namespace deadman::contract {
namespace {

class PostgresFixture final : public StoreFixture {
  public:
    base::Status open() override {
        run("create table effect(number bigint generated always as identity, label text not null)");
        DEADMAN_TRY(store_, open_store());
        return {};
    }

    void stop_clock() {
        shift_->wall_us = base::to_micros(clock_.now());
        shift_->stands_still = true;
    }

    store::JobStore& store() override {
        return *store_;
    }

    store::JobStore* second_store() override {
        if (!second_)
            second_ = value(open_store());
        return second_.get();
    }

    void advance(base::Duration by) override {
        shift_->wall_us += by.count();
        shift_->steady_us += by.count();
    }

    base::Status write_effect(store::EffectTransaction& transaction,
                              const std::string& label) override {
        DEADMAN_TRY_STATUS(transaction.execute("insert into effect(label) values ($1)", {label}));
        return {};
    }

    std::vector<std::string> effects() override {
        std::vector<std::string> labels;
        for (const auto& row : run("select label from effect order by number"))
            labels.push_back(row[0].as<std::string>());
        return labels;
    }

    // What the server sees of a killed process: its connections are gone.
    bool make_lock_vanish(const store::SessionKey& key) override {
        const std::string lock =
            "locktype = 'advisory' and classid = 5917 and objid = " + std::to_string(key.id.value);
        run("select pg_terminate_backend(pid, 5000) from pg_locks where " + lock);
        return run("select from pg_locks where " + lock).empty();
    }

    bool forget_session(domain::SessionId id) override {
        return run("delete from deadman.session where id = " + std::to_string(id.value) +
                   " returning id")
                   .size() == 1;
    }

    bool raise_sequences(std::int64_t to) override {
        const std::string value = std::to_string(to);
        run("select setval('deadman.ticket', " + value + ", false), setval('deadman.fence', " +
            value + ", false), setval('deadman.session_id_seq', " + value + ", false)");
        return true;
    }

    StoreCapabilities capabilities() const override {
        return {};
    }

  private:
    base::Result<std::unique_ptr<store::JobStore>> open_store() {
        store::PostgresOptions options;
        options.url = database_.url();
        options.clock_shift = shift_;
        options.seed = 1;
        return store::PostgresJobStore::open(clock_, options);
    }

    pqxx::result run(const std::string& sql) {
        pqxx::connection connection(database_.url());
        pqxx::nontransaction work(connection);
        return work.exec(sql);
    }

    base::SystemClock clock_;
    test::PostgresDatabase database_;
    std::shared_ptr<store::ClockShift> shift_ = std::make_shared<store::ClockShift>();
    std::unique_ptr<store::JobStore> store_;
    std::unique_ptr<store::JobStore> second_;
};

std::unique_ptr<StoreFixture> make_postgres_fixture() {
    return std::make_unique<PostgresFixture>();
}

/// Its clock moves by advance() alone, as the model's does: or a due time would pass one sweep
/// sooner than there, wherever the machine is slow.
std::unique_ptr<StoreFixture> make_still_postgres_fixture() {
    auto fixture = std::make_unique<PostgresFixture>();
    fixture->stop_clock();
    return fixture;
}

INSTANTIATE_TEST_SUITE_P(Postgres, JobStoreContract,
                         testing::Values(StoreParam{"postgres", make_postgres_fixture}),
                         store_param_name);

INSTANTIATE_TEST_SUITE_P(Postgres, RandomOperations,
                         testing::Values(RandomOperationsParam{.name = "postgres",
                                                               .make = make_still_postgres_fixture,
                                                               .sequences = 20}),
                         random_operations_param_name);

} // namespace
} // namespace deadman::contract

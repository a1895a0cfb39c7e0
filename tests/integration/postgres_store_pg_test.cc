// What is particular to the Postgres store: migrations, partitions, fences after a promotion,
// wake-ups, what applications call.
//
// Goal:   each keeps its promise whatever state it finds the database in.
// Method: catalogues changed behind the store's back, bare connections beside it.

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/postgres_server.h"
#include "tests/support/postgres_store.h"
#include "tests/support/postgres_wire.h"

namespace deadman::test {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

class PostgresStore : public testing::Test {
  protected:
    PostgresStore() : c(database.url()), store(open_store(clock, database.url(), shift)) {}

    void advance(base::Duration by) {
        shift->wall_us += by.count();
        shift->steady_us += by.count();
    }

    base::SystemClock clock;
    PostgresDatabase database;
    PostgresWire c;
    std::shared_ptr<store::ClockShift> shift = std::make_shared<store::ClockShift>();
    std::unique_ptr<store::JobStore> store;
};

TEST_F(PostgresStore, ManyMigrateAtOnceAndOneDoes) {
    c.run("drop schema deadman cascade");
    std::atomic<int> applied{0};
    std::vector<std::thread> starters;
    for (int i = 0; i < 6; ++i)
        starters.emplace_back([&] {
            const auto own = open_store(clock, database.url());
            const auto report = own->migrate();
            ASSERT_TRUE(report) << report.error().message;
            applied += report->from_version == 0 ? 1 : 0;
        });
    for (std::thread& starter : starters)
        starter.join();
    EXPECT_EQ(applied, 1);
    EXPECT_EQ(enqueue(*store, 1).size(), 1u);
}

TEST_F(PostgresStore, WorksForARoleThatOwnsTheSchemaAndNothingElse) {
    c.run("drop schema deadman cascade; drop role if exists keeper; create role keeper login; "
          "create schema deadman authorization keeper");
    std::string url = database.url();
    url.replace(url.find("postgres@"), 8, "keeper");
    const auto own = open_store(clock, url, shift);
    EXPECT_EQ(value(own->migrate()).from_version, 0);
    value(own->migrate());
    const auto session = open_session(*own);
    enqueue(*own, 1);
    const auto claimed = value(own->claim(session.key, {.claim_no = 1, .queues = {"default"}}));
    ASSERT_EQ(claimed.size(), 1u);
    const auto leader = value(own->try_lead());
    ASSERT_TRUE(leader);
    advance(24h * 3);
    EXPECT_TRUE(value(leader->sweep({})).still_leader) << "it makes partitions";
    EXPECT_GT(c.number("select count(*) from deadman.partitions('done') where low::timestamptz > "
                       "now() + interval '8 days'"),
              0);
    for (const store::Finding& finding : value(own->examine()))
        EXPECT_NE(finding.severity, store::Finding::Severity::problem) << finding.message;
    c.run("drop schema deadman cascade; drop role keeper");
}

TEST_F(PostgresStore, NewerSchemaIsRefused) {
    c.run("insert into deadman.schema_version(version, name) values (9999, 'of tomorrow')");
    const auto report = store->migrate();
    ASSERT_FALSE(report);
    EXPECT_EQ(code_of(report), ErrorCode::conflict);
}

TEST_F(PostgresStore, SchemaThatIsMissingIsNamed) {
    c.run("drop schema deadman cascade");
    const auto refused = store->count_outstanding();
    ASSERT_FALSE(refused);
    EXPECT_EQ(code_of(refused), ErrorCode::conflict);
}

TEST(PostgresUrl, ThatCannotBeOneIsRefused) {
    base::SystemClock clock;
    store::PostgresOptions options;
    options.url = "postgresql://host:notaport?nonsense";
    const auto refused = store::PostgresJobStore::open(clock, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(code_of(refused), ErrorCode::invalid_argument);
}

TEST_F(PostgresStore, DatabaseThatDoesNotExistIsNamed) {
    const auto other = open_store(clock, postgres_server().url("nowhere"));
    const auto refused = other->now();
    ASSERT_FALSE(refused);
    EXPECT_EQ(code_of(refused), ErrorCode::unavailable);
    EXPECT_NE(refused.error().message.find("nowhere"), std::string::npos)
        << refused.error().message;
}

TEST_F(PostgresStore, LookupNumbersAreNotUsedUpByEnqueues) {
    for (int i = 0; i < 20; ++i)
        enqueue(*store, 50);
    EXPECT_LT(c.number("select last_value from deadman.queue_number"), 10);
}

TEST_F(PostgresStore, FencesAreRaisedAfterAPromotionBeforeTheFirstClaim) {
    const auto session = open_session(*store);
    enqueue(*store, 2);
    const auto before = value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}}));
    c.run("update deadman.cluster set timeline = '00000000'"); // as if a standby had been promoted
    const auto after = value(store->claim(session.key, {.claim_no = 2, .queues = {"default"}}));
    ASSERT_EQ(after.size(), 1u);
    EXPECT_GE(after[0].run.fence.value, before[0].run.fence.value + (std::int64_t{1} << 32));
}

TEST_F(PostgresStore, PartitionsAreMadeWhereUpkeepSlept) {
    const auto session = open_session(*store);
    enqueue(*store, 1);
    const auto claimed = value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}}));
    advance(24h * 30);
    const store::RunEnd end{claimed[0].run, {}};
    EXPECT_EQ(value(store->complete(session.key, {&end, 1})).at(0), domain::Verdict::ok);
}

TEST_F(PostgresStore, RetentionDropsWholePartitionsAndTheirJobs) {
    const auto session = open_session(*store);
    const auto ids = enqueue(*store, 3);
    auto claimed =
        value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}, .max = 2}));
    ASSERT_EQ(claimed.size(), 2u);
    std::vector<store::RunEnd> ends{{claimed[0].run, {}}, {claimed[1].run, {}}};
    ends[1].answer.kind = domain::AnswerKind::failed;
    value(store->complete(session.key, ends));
    const std::string day = c.one("select to_char(now() at time zone 'UTC', 'YYYYMMDD')");
    const std::string there = "select count(*) from pg_class where relname = 'done_" + day + "'";
    ASSERT_EQ(c.number(there), 1);

    const auto leader = value(store->try_lead());
    ASSERT_TRUE(leader);
    store::UpkeepRequest request;
    value(leader->sweep(request));
    EXPECT_EQ(c.number(there), 1) << "too young";
    advance(24h * 16);
    EXPECT_EQ(value(leader->sweep(request)).pruned, 2);
    EXPECT_EQ(c.number(there), 0);
    EXPECT_FALSE(value(store->find(ids[0])));
    EXPECT_FALSE(value(store->find(ids[1])));
    EXPECT_TRUE(value(store->find(ids[2]))) << "it has not finished";
    EXPECT_EQ(c.number("select count(*) from deadman.job"), 1);
}

TEST_F(PostgresStore, DeadIdRangesAreDropped) {
    enqueue(*store, 1);
    c.run("select setval('deadman.ticket', 25000000)");
    c.run("delete from deadman.ready");
    const auto leader = value(store->try_lead());
    value(leader->sweep({}));
    EXPECT_EQ(c.number("select count(*) from pg_class where relname = 'job_0'"), 0);
    EXPECT_EQ(enqueue(*store, 1).size(), 1u);
}

TEST_F(PostgresStore, EndThatTheServerRefusesHoldsUpNoOther) {
    c.run("create function public.refuse() returns trigger language plpgsql as $$ begin "
          "if new.result like '%refused%' or new.id = 5 then raise exception 'no' using errcode = "
          "'22023'; end if; return new; end $$");
    c.run("create trigger refuse before insert on deadman.done for each row execute function "
          "public.refuse()");
    const auto session = open_session(*store);
    const auto ids = enqueue(*store, 6);
    ASSERT_EQ(ids.back().value, 6);
    std::vector<store::RunEnd> ends;
    for (const auto& claimed :
         value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}, .max = 6})))
        ends.push_back({claimed.run, {.kind = domain::AnswerKind::succeeded, .result = "1"}});
    ASSERT_EQ(ends.size(), 6u);
    ends[1].answer.result = "\"refused\"";
    using domain::Verdict;
    EXPECT_EQ(value(store->complete(session.key, ends)),
              (std::vector{Verdict::ok, Verdict::ok, Verdict::ok, Verdict::ok, Verdict::busy,
                           Verdict::ok}));
    EXPECT_EQ(value(store->find(ids[0])).value().result, "1");
    EXPECT_EQ(value(store->find(ids[1])).value().state, domain::JobState::succeeded);
    EXPECT_EQ(value(store->find(ids[1])).value().result, "") << "what could not be kept";
    EXPECT_EQ(value(store->find(ids[4])).value().state, domain::JobState::running);
    c.run("drop function public.refuse() cascade");
    EXPECT_EQ(value(store->complete(session.key, {&ends[4], 1})).at(0), Verdict::ok);
}

TEST_F(PostgresStore, ShortClaimLooksAgainBehindItsCursor) {
    const auto session = open_session(*store);
    c.run("select deadman.queue_id('default')"); // or the others would wait for its first user
    PostgresWire app(database.url());
    app.run("begin");
    const std::int64_t late = app.number("select deadman.enqueue('work')");
    enqueue(*store, 5);
    ASSERT_EQ(
        value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}, .max = 5})).size(),
        5u);
    app.run("commit");
    const auto claimed =
        value(store->claim(session.key, {.claim_no = 2, .queues = {"default"}, .max = 5}));
    ASSERT_EQ(claimed.size(), 1u) << "no sweep has run, and nobody was woken";
    EXPECT_EQ(claimed[0].run.job.value, late);
}

TEST_F(PostgresStore, ConnectionsOfAStoppedWorkerKeepNoLocksPastItsLease) {
    c.run("create table public.seen(at text, idle text, checks text, tcp text)");
    c.run(
        "create function public.see() returns trigger language plpgsql as $$ begin insert into "
        "public.seen values (tg_table_name, "
        "current_setting('idle_in_transaction_session_timeout'), "
        "current_setting('client_connection_check_interval'), current_setting('tcp_user_timeout'));"
        " return new; end $$");
    for (const char* table : {"session", "lease"}) // where a renewal and where a claim writes
        c.run("create trigger see before insert or update on deadman." + std::string(table) +
              " for each row execute function public.see()");
    store::SessionSpec spec;
    spec.worker = "worker";
    spec.terms = domain::LeaseTerms::scaled_to(2s);
    const auto session = value(store->register_session(spec));
    enqueue(*store, 1);
    value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}}));
    value(store->renew(session.key, {}));
    EXPECT_EQ(c.one("select string_agg(distinct at || ' ' || idle || ' ' || checks || ' ' || tcp, "
                    "', ') from public.seen"),
              "lease 1s 1s 1000, session 1s 1s 1000");
    c.run("drop function public.see() cascade");
}

TEST_F(PostgresStore, EnqueueWakesWhoWaits) {
    const std::vector<std::string> queues{"default"};
    const auto session = open_session(*store);
    const auto nothing = value(store->claim(session.key, {.claim_no = 1, .queues = queues}));
    ASSERT_TRUE(nothing.empty());
    // Until the announcement stands, waits are short.
    ASSERT_TRUE(eventually([&] {
        store->wait_for_work(queues, 20ms);
        return c.number("select count(*) from deadman.waiter") == 1;
    }));
    std::thread producer([&] {
        PostgresWire other(database.url());
        other.run("select deadman.enqueue('work')");
    });
    const auto start = clock.steady_now();
    std::vector<store::Claimed> claimed;
    for (int no = 2; claimed.empty() && clock.steady_now() - start < 20s; ++no) {
        store->wait_for_work(queues, 30s);
        claimed = value(store->claim(session.key, {.claim_no = no, .queues = queues}));
    }
    producer.join();
    EXPECT_EQ(claimed.size(), 1u);
    EXPECT_LT(clock.steady_now() - start, 10s);
}

TEST_F(PostgresStore, NotifiesOnlyWhileSomebodyWaits) {
    c.run("listen deadman_wake");
    enqueue(*store, 1);
    EXPECT_EQ(c.take_notifications(), 0);
    c.run("insert into deadman.waiter values (gen_random_uuid(), '{default}', clock_timestamp() + "
          "interval '1 min')");
    enqueue(*store, 10);
    EXPECT_EQ(c.take_notifications(), 1);
    enqueue(*store, 1, {.kind = "work", .queue = "other"});
    EXPECT_EQ(c.take_notifications(), 0) << "nobody waits for that queue";
}

TEST_F(PostgresStore, InterruptEndsAWait) {
    std::atomic<bool> stop{false};
    std::atomic<bool> ended{false};
    std::thread waiter([&] {
        while (!stop)
            store->wait_for_work(std::vector<std::string>{"default"}, 60s);
        ended = true;
    });
    stop = true;
    EXPECT_TRUE(eventually([&] {
        store->interrupt();
        return ended.load();
    }));
    waiter.join();
}

TEST_F(PostgresStore, ThroughAPoolerEverythingElseWorks) {
    store::PostgresOptions options;
    options.url = database.url();
    options.through_pooler = true;
    const auto pooled = value(store::PostgresJobStore::open(clock, options));
    enqueue(*pooled, 2);
    const auto session = open_session(*pooled);
    EXPECT_EQ(session.renew_every, domain::LeaseTerms{}.heartbeat);
    value(pooled->renew(session.key, {}));
    const auto claimed =
        value(pooled->claim(session.key, {.claim_no = 1, .queues = {"default"}, .max = 2}));
    ASSERT_EQ(claimed.size(), 2u);
    const store::RunEnd end{claimed[0].run, {}};
    EXPECT_EQ(value(pooled->complete(session.key, {&end, 1})).at(0), domain::Verdict::ok);
    const auto leader = value(pooled->try_lead());
    ASSERT_TRUE(leader);
    EXPECT_TRUE(value(leader->sweep({})).still_leader);
    EXPECT_EQ(c.number("select count(*) from pg_prepared_statements"), 0);
}

/// What applications call, as a role that owns nothing.
class SqlApi : public PostgresStore {
  protected:
    SqlApi() {
        c.run("do $$ begin if not exists (select from pg_roles where rolname = 'app') then create "
              "role app; end if; end $$");
        c.run("grant usage on schema deadman to app");
        c.run("set role app");
    }
};

TEST_F(SqlApi, EnqueuesForARoleThatMayTouchNoTable) {
    c.run("begin");
    const std::int64_t rolled_back = c.number("select deadman.enqueue('mail.send')");
    c.run("rollback");
    EXPECT_FALSE(value(store->find({rolled_back}))) << "it belongs to the caller's transaction";
    const std::int64_t id = c.number(
        "select deadman.enqueue('mail.send', '{\"to\": 1}', queue => 'mail', priority => 2, "
        "max_attempts => 3, transactional => true, timeout => interval '90 s')");
    const auto job = value(store->find({id}));
    ASSERT_TRUE(job);
    EXPECT_EQ(job->payload, "{\"to\": 1}");
    EXPECT_EQ(job->queue, "mail");
    EXPECT_EQ(job->priority, 2);
    EXPECT_EQ(job->max_attempts, 3);
    EXPECT_TRUE(job->transactional);
    EXPECT_EQ(job->timeout, 90s);
    EXPECT_EQ(c.number("select deadman.count_outstanding()"), 1);
    EXPECT_EQ(c.sqlstate_of("select count(*) from deadman.job"), "42501");
    EXPECT_EQ(c.sqlstate_of("select deadman.cancel(" + std::to_string(id) + ")"), "42501");
}

TEST_F(SqlApi, RefusesWhatCouldNotBeCarried) {
    const auto refused = [&](const std::string& arguments) {
        return c.sqlstate_of("select deadman.enqueue(" + arguments + ")");
    };
    EXPECT_EQ(refused("'no spaces'"), "22023");
    EXPECT_EQ(refused("'work', priority => 10"), "22023");
    EXPECT_EQ(refused("'work', max_attempts => 0"), "22023");
    EXPECT_EQ(refused("'work', run_at => 'infinity'"), "22023");
    EXPECT_EQ(refused("'work', timeout => 'infinity'").substr(0, 2), "22"); // 15 knows none
    EXPECT_EQ(refused("'work', run_at => '20000-01-01'"), "22023");
    EXPECT_EQ(refused(R"('work', '{"a":"\u0000"}')"), "22P05");
    EXPECT_EQ(refused(R"('work', '{"a":"\ud800"}')"), "22P02");
    EXPECT_EQ(refused("'work', to_json(repeat('x', 1048576))"), "22023");
    EXPECT_EQ(c.number("select deadman.count_outstanding()"), 0);
}

TEST_F(SqlApi, IdempotencyKeyReplaysOrRefuses) {
    const std::string first = c.one("select deadman.enqueue('work', idempotency_key => 'k')");
    EXPECT_EQ(c.one("select deadman.enqueue('work', idempotency_key => 'k')"), first);
    EXPECT_EQ(c.sqlstate_of("select deadman.enqueue('work', '[]', idempotency_key => 'k')"),
              "DM004");
}

TEST_F(SqlApi, IdempotencyKeyHoldsWhicheverWayTheSecondRequestComes) {
    domain::JobSpec spec{.kind = "mail.send",
                         .payload = "{\"to\":  \"Zo\u00eb\", \"x\": \"\\u00e9\"}",
                         .queue = "mail",
                         .priority = 2,
                         .due = base::from_micros(1'900'000'000'123'456),
                         .max_attempts = 3,
                         .timeout = 90s,
                         .transactional = true,
                         .unique_key = "u",
                         .idempotency_key = "k"};
    const auto first = value(store->enqueue({&spec, 1})).at(0);
    const std::string call =
        "select deadman.enqueue('mail.send', '" + spec.payload +
        "', queue => 'mail', priority => 2, run_at => deadman_time, max_attempts => 3, "
        "transactional => true, timeout => '90 s', unique_key => 'u', idempotency_key => 'k') "
        "from (select timestamptz 'epoch' + interval '1900000000.123456 s' deadman_time) t";
    EXPECT_EQ(c.number(call), first.id.value);
    const domain::JobSpec plain{.kind = "work", .idempotency_key = "p"};
    const std::string id = c.one("select deadman.enqueue('work', idempotency_key => 'p')");
    const auto second = value(store->enqueue({&plain, 1})).at(0);
    EXPECT_EQ(std::to_string(second.id.value), id);
    EXPECT_TRUE(second.replayed);
}

} // namespace
} // namespace deadman::test

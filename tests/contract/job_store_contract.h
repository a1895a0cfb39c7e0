#pragma once
// The contract of store::JobStore as tests: one suite, run against every store.
//
// Goal:   what job_store.h says, each sentence by at least one test, with the same answers
// everywhere. Method: a store brings a StoreFixture and instantiates the suite in a file of its
// own, as
//         memory_contract_test.cc does. A difference between stores is a declared capability; a
//         test that needs one it lacks is skipped and says why.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "deadman/store/job_store.h"

namespace deadman::contract {

/// What a store can be made to do in a test. Each false one must be explained by `why`.
struct StoreCapabilities {
    // second_store(): another handle on the same data, as another process has
    bool second_handle = true;
    // make_lock_vanish(): a process's death is seen before its lease is over
    bool sees_death = true;
    // forget_session(): a session's row can be deleted behind the store's back
    bool forgets_session = true;
    // raise_sequences()
    bool raises_sequences = true;
    // other calls of the store go on while the body of transact() runs
    bool enters_in_transaction = true;
    // a leader that stopped sweeping is replaced before its process ends
    bool replaces_stalled_leader = true;
    // shown by the tests that are skipped
    std::string why;
};

/// One store under test, opened once per test. Its clock moves only by advance() (and, on a server,
/// by itself).
class StoreFixture {
  public:
    virtual ~StoreFixture() = default;

    /// Makes an empty, migrated store.
    virtual base::Status open() = 0;

    virtual store::JobStore& store() = 0;

    /// Another handle on the same data, or nullptr.
    virtual store::JobStore* second_store() = 0;

    /// Moves the store's clock (wall and steady alike).
    virtual void advance(base::Duration by) = 0;

    /// One effect, written in the transaction that transact() gave; and all committed ones, in
    /// order.
    virtual base::Status write_effect(store::EffectTransaction& transaction,
                                      const std::string& label) = 0;
    virtual std::vector<std::string> effects() = 0;

    /// Makes the store see the session's process as dead. False where it cannot.
    virtual bool make_lock_vanish(const store::SessionKey&) {
        return false;
    }

    /// Deletes the session's row as a careless operator would. False where it cannot.
    virtual bool forget_session(domain::SessionId) {
        return false;
    }

    /// Makes the next id of every kind at least `to`. False where it cannot.
    virtual bool raise_sequences(std::int64_t) {
        return false;
    }

    virtual StoreCapabilities capabilities() const = 0;
};

using FixtureFactory = std::function<std::unique_ptr<StoreFixture>()>;

struct StoreParam {
    std::string name;
    FixtureFactory make;
};

inline void PrintTo(const StoreParam& param, std::ostream* out) {
    *out << param.name;
}

inline std::string store_param_name(const testing::TestParamInfo<StoreParam>& info) {
    return info.param.name;
}

/// The value, or a failed test that shows the error. Use where an error makes the rest meaningless:
/// it throws.
template <typename T> T value(base::Result<T> result) {
    if (!result)
        throw std::runtime_error(std::string(base::error_code_name(result.error().code)) + ": " +
                                 result.error().message);
    return std::move(*result);
}

inline void value(const base::Status& status) {
    if (!status)
        throw std::runtime_error(std::string(base::error_code_name(status.error().code)) + ": " +
                                 status.error().message);
}

/// The code of an error; nothing where there is none.
template <typename T> std::optional<base::ErrorCode> code_of(const base::Result<T>& result) {
    if (result)
        return std::nullopt;
    return result.error().code;
}

/// Steps that most tests take. Each fails the test, with the store's message, where the store
/// returns an error.
class JobStoreContract : public testing::TestWithParam<StoreParam> {
  protected:
    void SetUp() override;

    store::JobStore& store() {
        return fixture_->store();
    }

    StoreFixture& fixture() {
        return *fixture_;
    }

    static domain::JobSpec spec(std::string kind = "work");
    static domain::JobSpec transactional_spec();

    domain::JobId enqueue(const domain::JobSpec& spec);
    std::vector<domain::JobId> enqueue_many(int count, const domain::JobSpec& spec);

    store::Session open_session(const std::string& worker = "worker");

    /// Under a claim number that the test has not used.
    std::vector<store::Claimed> claim(const store::Session& session, int max = 100,
                                      std::vector<std::string> queues = {"default"});
    store::Claimed claim_one(const store::Session& session);
    std::vector<store::Claimed> claim_suspect(const store::Session& session);
    store::ClaimRequest claim_request(int max, std::vector<std::string> queues = {"default"});

    domain::Verdict complete(const store::Session& session, const store::RunKey& run,
                             const domain::Answer& answer);
    domain::Verdict succeed(const store::Session& session, const store::RunKey& run);
    store::Renewal renew(const store::Session& session, std::vector<domain::JobId> started = {});

    store::JobRecord record(domain::JobId id);
    domain::JobState state(domain::JobId id);
    std::vector<store::RunRecord> runs(domain::JobId id);
    std::int64_t outstanding();

    /// One sweep of a leadership that the test holds from its first use on.
    store::UpkeepReport sweep();
    store::UpkeepReport sweep(const store::UpkeepRequest& request);
    void give_up_leadership();

    /// Moves the clock by `by` in steps of a sweep, with a sweep after each: nothing looks like an
    /// outage.
    store::UpkeepReport pass(base::Duration by);
    /// ... while these sessions renew.
    store::UpkeepReport pass(base::Duration by, const std::vector<store::Session>& alive,
                             const std::vector<domain::JobId>& started = {});

    /// Longer than a lease: a session that does not renew is gone, and its runs are back.
    void let_lapse();

    /// A claimable suspect in `queue` whose crash count is 0: it lapsed twice beside a neighbour,
    /// which has succeeded since. REQUIRES: nothing else is in `queue`.
    domain::JobId make_suspect(const std::string& queue);

    store::UpkeepRequest upkeep;
    domain::LeaseTerms terms;

  private:
    std::unique_ptr<StoreFixture> fixture_;
    std::unique_ptr<store::Leadership> leadership_;
    std::atomic<std::int64_t> next_claim_no_ = 1;
};

std::vector<domain::JobId> ids_of(const std::vector<store::Claimed>& claimed);
domain::Answer answer(domain::AnswerKind kind, base::Duration delay = {});

} // namespace deadman::contract

/// Skips the test, saying why, where the store lacks a capability.
#define DEADMAN_NEEDS(capability)                                                                  \
    do {                                                                                           \
        if (const auto declared = fixture().capabilities(); !declared.capability)                  \
            GTEST_SKIP() << "no " #capability ": " << declared.why;                                \
    } while (false)

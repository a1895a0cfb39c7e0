#pragma once
// WorkerCore: every decision of a worker, as a state machine. Events go in, each with the steady
// time; actions come out. Worker drives it with threads and a store, the simulation with a seed.
//
// Contract:      each call action (Register, Renew, Claim, ReadBackClaim, Complete, EndSession,
// Idle) is
//                answered by exactly one event, in any order and however late. tick() is called by
//                next_wake() at the latest; calling it more often changes nothing.
// Thread-safety: external synchronization. Never blocks, never reads a clock.
// Errors:        none: a failed call is an event like another.
// Source:        DECISIONS 023; PROTOCOL S4 (self-fencing), C1 (claims), C5 (suspects), E10
// (verdicts).

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "deadman/base/random.h"
#include "deadman/base/result.h"
#include "deadman/base/time.h"
#include "deadman/store/job_types.h"
#include "deadman/store/session.h"
#include "deadman/worker/internal/claim_desk.h"
#include "deadman/worker/internal/end_queue.h"
#include "deadman/worker/internal/lease_watch.h"
#include "deadman/worker/internal/prefetch.h"
#include "deadman/worker/internal/suspect_turns.h"
#include "deadman/worker/worker_action.h"
#include "deadman/worker/worker_options.h"

namespace deadman::worker {

/// What became of the handler's own transaction.
enum class TransactionOutcome {
    none,      // not used, or rolled back
    committed, // the run has ended as succeeded with it
    unknown,   // the end was sent and its answer lost
};

class WorkerCore {
  public:
    /// REQUIRES: `options` are resolved().
    explicit WorkerCore(WorkerOptions options);

    Actions start(base::SteadyTime now);
    Actions registered(base::SteadyTime now, base::SteadyTime sent_at,
                       base::Result<store::Session> result);
    Actions renewed(base::SteadyTime now, std::int64_t renew_no, base::SteadyTime sent_at,
                    base::Result<store::Renewal> result);
    Actions session_ended(base::SteadyTime now, const base::Status& result);

    Actions claim_answered(base::SteadyTime now, std::int64_t claim_no,
                           base::Result<std::vector<store::Claimed>> result);
    Actions claim_read_back(base::SteadyTime now, std::int64_t claim_no,
                            base::Result<std::vector<store::Claimed>> result);
    Actions woken(base::SteadyTime now);
    Actions completed(base::SteadyTime now, std::int64_t batch_no,
                      base::Result<std::vector<domain::Verdict>> result);

    Actions run_finished(base::SteadyTime now, const store::RunKey& run, domain::Answer answer,
                         TransactionOutcome transaction);
    Actions progress(base::SteadyTime now, const store::RunKey& run, int percent, std::string note);

    Actions tick(base::SteadyTime now);

    /// No new work; runs go on for the drain's grace. A second call changes nothing.
    Actions drain(base::SteadyTime now);

    /// Stop everything, hand back what can be handed back, and be gone within the force bound.
    Actions force_drain(base::SteadyTime now);

    /// When tick() is due, whatever else happens before.
    base::SteadyTime next_wake() const {
        return next_wake_;
    }

    bool finished() const {
        return phase_ == Phase::finished;
    }

    /// Runs that the worker believes to hold: claimed, not yet recorded as ended.
    std::size_t held() const {
        return held_.size();
    }

    /// Claimed and not started; bounded by the prefetch of now and one claim that came late.
    std::size_t buffered() const {
        return buffer_.size();
    }

    /// Handlers that have not returned.
    std::size_t running() const {
        return active_.size();
    }

  private:
    enum class Phase {
        unregistered,
        registering,
        live,
        fencing, // the lease is uncertain: stop, settle, then end the session
        lost,    // the store has ended the session: stop, then register anew
        ending,
        finished,
    };

    struct Active {
        domain::RetryPolicy retry;
        int attempts_spent = 0;
        base::SteadyTime started{};
        base::SteadyTime deadline = base::SteadyTime::max();
        std::optional<StopWhy> stopping;
        base::SteadyTime stop_deadline = base::SteadyTime::max();
        bool abandoned = false; // its end has been sent without it
        bool settled = false;   // ... and recorded: nothing it does counts, nobody waits for it
    };

    struct SentRenewal {
        std::int64_t no = 0;
        internal::RunKeys held;
        std::int64_t first_uncertain_claim = 0;
        std::map<store::RunKey, store::RunProgress> progress;
    };

    // Rules, in the order in which every event applies them (worker_core.cc).
    Actions settle(base::SteadyTime now);
    void check_lease(base::SteadyTime now);
    void check_runs(base::SteadyTime now);
    void check_drain(base::SteadyTime now);
    void start_runs(base::SteadyTime now);
    void flush_ends(base::SteadyTime now);
    void claim_more(base::SteadyTime now);
    void adapt_prefetch(base::SteadyTime now);
    void check_session(base::SteadyTime now);
    void renew(base::SteadyTime now);

    // Claims (worker_core_claims.cc).
    void claim_new(base::SteadyTime now);
    bool worth_claiming() const;

    // Sessions (worker_core_session.cc).
    void lose_session(base::SteadyTime now, const std::string& why);
    void begin_fencing(base::SteadyTime now);
    void leave(std::string why);
    void finish();
    void register_session(base::SteadyTime now);
    void begin_ending(base::SteadyTime now, std::string reason);
    void end_session(base::SteadyTime now);
    void forget_session();
    void apply_renewal(base::SteadyTime now, const store::Renewal& renewal,
                       const SentRenewal& sent);
    void apply_cancels(base::SteadyTime now, const store::HeldLease& lease);
    void drop_vanished(const internal::RunKeys& seen, const SentRenewal& sent);

    // Runs (worker_core_runs.cc).
    void claim_closed(base::SteadyTime now, internal::ClaimAnswer answer);
    void claim_found_nothing(base::SteadyTime now, bool suspect);
    void go_idle(base::SteadyTime now, base::Duration at_most);
    void take(std::vector<store::Claimed> runs, bool suspect, bool orphans);
    void take_one(store::Claimed claimed, bool must_be_alone);
    void end_run(const store::RunKey& run, domain::Answer answer,
                 bool asks_about_transaction = false);
    void end_settled(const internal::SettledEnd& end);
    void hand_back_buffer(StopWhy why);
    void hand_back(const store::Claimed& claimed, std::string_view reason);
    base::Duration youngest_age(base::SteadyTime now) const;
    void stop_run(base::SteadyTime now, const store::RunKey& run, Active& active, StopWhy why);
    void stop_all(base::SteadyTime now, StopWhy why);
    void abandon(const store::RunKey& run, Active& active);
    domain::Answer stopped_answer(const Active& active, const domain::Answer& given);

    void ask_claim(bool suspect, std::size_t max);
    bool handlers_unsettled() const;
    bool quiet() const;
    bool knows_kind(const std::string& kind) const;
    std::size_t room() const;
    bool lease_certain(base::SteadyTime now) const;
    void wake_at(base::SteadyTime time);
    void report(Report report);
    void report_failure(const char* call, const std::string& message);

    WorkerOptions options_;
    base::Random random_;
    Actions actions_;
    base::SteadyTime next_wake_{};

    Phase phase_ = Phase::unregistered;
    store::SessionKey session_;
    internal::LeaseWatch lease_;
    std::string end_reason_;
    bool ending_call_ = false;
    base::SteadyTime session_not_before_{};
    internal::Backoff session_backoff_;

    std::optional<SentRenewal> renewal_;
    std::int64_t next_renew_no_ = 1;
    base::SteadyTime renew_due_{};
    internal::Backoff renew_backoff_;

    internal::ClaimDesk desk_;
    internal::SuspectTurns suspects_;
    bool ask_suspect_next_ = false;
    bool nothing_claimable_ = false; // as of the last claim
    bool alone_ = false;             // a suspect is held: nothing else until it has ended
    int empty_claims_ = 0;
    base::SteadyTime idle_rounds_until_{}; // see go_idle

    internal::Prefetch prefetch_tuning_;
    std::size_t prefetch_ = 0; // as of now

    std::deque<store::Claimed> buffer_;
    std::map<store::RunKey, Active> active_;
    internal::RunKeys held_;
    internal::EndQueue ends_;
    std::map<store::RunKey, store::RunProgress> progress_;

    std::optional<base::SteadyTime> drain_since_;
    std::optional<base::SteadyTime> forced_since_;
    base::SteadyTime ending_since_{};
};

} // namespace deadman::worker

#pragma once
// OperationSide: one of the stores that a random sequence is applied to. Every operation answers
// with a text that two stores must agree on; jobs, sessions and runs are named by their order of
// appearance.
//
// Thread-safety: one thread.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/contract/job_store_contract.h"

namespace deadman::contract {

/// Names a run by its place in OperationSide::runs.
struct PlannedEnd {
    std::size_t run = 0;
    domain::Answer answer;
};

struct PlannedClaim {
    std::size_t session = 0;
    store::ClaimRequest request;
};

class OperationSide {
  public:
    OperationSide(const FixtureFactory& make, const domain::LeaseTerms& terms);

    std::string enqueue(const std::vector<domain::JobSpec>& specs);
    std::string open_session();
    std::string claim(const PlannedClaim& plan);
    std::string read_claim(const PlannedClaim& plan);
    std::string complete(std::size_t session, const std::vector<PlannedEnd>& ends);
    std::string transact(std::size_t session, std::size_t run, const std::string& effect);
    std::string transact_in_vain(std::size_t session, std::size_t run);
    std::string renew(std::size_t session, const std::vector<std::size_t>& started);
    std::string end_session(std::size_t session);
    std::string cancel(std::size_t job);
    std::string retry(std::size_t job);
    std::string remove(std::size_t job);
    std::string pause(const std::string& queue);
    std::string resume(const std::string& queue);

    /// Time passes by one sweep, and a sweep follows.
    std::string tick();

    /// Everything that can be asked, of every job.
    std::string whole_state();

    std::size_t jobs() const {
        return jobs_.size();
    }

    std::size_t sessions() const {
        return sessions_.size();
    }

    std::size_t runs() const {
        return runs_.size();
    }

    /// Of the run, the session that claimed it and its job.
    std::size_t session_of(std::size_t run) const;
    std::size_t job_of(std::size_t run) const;
    bool is_solo(std::size_t run) const;

    /// What the planner looks at, on the model's side only.
    int held_by(std::size_t session);
    int pending_suspects(const std::string& queue);

  private:
    std::string name_of(domain::JobId id) const;
    std::string describe_job(std::size_t job);
    store::JobStore& store() const;
    void note_claimed(std::size_t session, std::vector<store::Claimed> claimed);

    std::unique_ptr<StoreFixture> fixture_;
    store::UpkeepRequest upkeep_;
    std::unique_ptr<store::Leadership> leadership_;
    std::vector<domain::JobId> jobs_;
    std::map<domain::JobId, std::size_t> job_numbers_;
    std::vector<store::Session> sessions_;
    std::vector<store::RunKey> runs_;
    std::vector<std::size_t> run_sessions_;
    std::vector<bool> run_solo_;
};

} // namespace deadman::contract

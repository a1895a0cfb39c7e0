#include "tests/contract/memory_fixture.h"

#include "deadman/store/memory/memory_job_store.h"

namespace deadman::contract {
namespace {

class MemoryFixture final : public StoreFixture {
  public:
    base::Status open() override {
        return {};
    }

    store::JobStore& store() override {
        return store_;
    }

    store::JobStore* second_store() override {
        return &store_; // there is one process, and it has one store
    }

    void advance(base::Duration by) override {
        clock_.advance(by);
    }

    base::Status write_effect(store::EffectTransaction& transaction,
                              const std::string& label) override {
        DEADMAN_TRY_STATUS(transaction.execute("insert into effect values (?1)", {label}));
        return {};
    }

    std::vector<std::string> effects() override {
        std::vector<std::string> labels;
        for (const store::CommittedEffect& effect : store_.committed_effects())
            labels.push_back(std::get<std::string>(effect.parameters.at(0)));
        return labels;
    }

    bool forget_session(domain::SessionId id) override {
        return store_.forget_session(id);
    }

    bool raise_sequences(std::int64_t to) override {
        store_.raise_sequences(to);
        return true;
    }

    StoreCapabilities capabilities() const override {
        return {.sees_death = false,
                .why = "the sessions of the in-memory store live and die with one process"};
    }

  private:
    base::SimulatedClock clock_;
    store::MemoryJobStore store_{clock_};
};

} // namespace

std::unique_ptr<StoreFixture> make_memory_fixture() {
    return std::make_unique<MemoryFixture>();
}

} // namespace deadman::contract

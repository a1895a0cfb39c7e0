// Goal: an enqueue is refused for what is wrong with it, field by field, and two requests have one
// fingerprint only if they are the same.

#include "deadman/domain/job.h"

#include <functional>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace deadman::domain {
namespace {

using base::Duration;
using namespace std::chrono_literals;
using Change = std::function<void(JobSpec&)>;

JobSpec spec_with(const Change& change) {
    JobSpec spec;
    spec.kind = "mail.send";
    change(spec);
    return spec;
}

TEST(JobSpec, AcceptsWhatIsWithinTheBounds) {
    const std::vector<Change> changes{
        [](JobSpec&) {},
        [](JobSpec& s) { s.kind = "A"; },
        [](JobSpec& s) { s.kind = "img/resize:v2_x-1.0"; },
        [](JobSpec& s) { s.kind = std::string(200, 'k'); },
        [](JobSpec& s) { s.priority = 0; },
        [](JobSpec& s) { s.priority = 9; },
        [](JobSpec& s) { s.due = latest_time; },
        [](JobSpec& s) { s.due = base::from_micros(0); },
        [](JobSpec& s) { s.delay = 0s; },
        [](JobSpec& s) { s.delay = 24h * 36525; },
        [](JobSpec& s) { s.delay = 2147483648ms; },
        [](JobSpec& s) { s.max_attempts = 1; },
        [](JobSpec& s) { s.max_attempts = 32'000; },
        [](JobSpec& s) { s.timeout = 0s; },
        [](JobSpec& s) { s.unique_key = "f\xC3\xBCr Kunde 7"; },
        [](JobSpec& s) { s.retry = {.base = 0s, .cap = 0s, .jitter = 0}; },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const auto status = validate_spec(spec_with(changes[i]));
        EXPECT_TRUE(status.has_value()) << i << ": " << status.error().message;
    }
}

struct Refusal {
    const char* field;
    Change change;
};

TEST(JobSpec, RefusesNamingTheField) {
    const std::vector<Refusal> refusals{
        {"kind", [](JobSpec& s) { s.kind = ""; }},
        {"kind", [](JobSpec& s) { s.kind = ".a"; }},
        {"kind", [](JobSpec& s) { s.kind = "a b"; }},
        {"kind", [](JobSpec& s) { s.kind = "a\n"; }},
        {"kind", [](JobSpec& s) { s.kind = "caf\xC3\xA9"; }},
        {"kind", [](JobSpec& s) { s.kind = std::string("a\0b", 3); }},
        {"kind", [](JobSpec& s) { s.kind = std::string(201, 'k'); }},
        {"queue", [](JobSpec& s) { s.queue = "<script>"; }},
        {"queue", [](JobSpec& s) { s.queue = ""; }},
        {"priority", [](JobSpec& s) { s.priority = -1; }},
        {"priority", [](JobSpec& s) { s.priority = 10; }},
        {"due", [](JobSpec& s) { s.due = latest_time + 1us; }},
        {"due", [](JobSpec& s) { s.due = base::from_micros(-1); }},
        {"due", [](JobSpec& s) { s.due = base::TimePoint::max(); }},
        {"due",
         [](JobSpec& s) {
             s.due = base::from_micros(5);
             s.delay = 5s;
         }},
        {"delay", [](JobSpec& s) { s.delay = -1us; }},
        {"delay", [](JobSpec& s) { s.delay = Duration::max(); }},
        {"delay", [](JobSpec& s) { s.delay = Duration::min(); }},
        {"max_attempts", [](JobSpec& s) { s.max_attempts = 0; }},
        {"max_attempts", [](JobSpec& s) { s.max_attempts = 32'001; }},
        {"timeout", [](JobSpec& s) { s.timeout = -1s; }},
        {"timeout", [](JobSpec& s) { s.timeout = Duration::max(); }},
        {"unique_key", [](JobSpec& s) { s.unique_key = "\xFF"; }},
        {"unique_key", [](JobSpec& s) { s.unique_key = std::string(201, 'k'); }},
        {"idempotency_key", [](JobSpec& s) { s.idempotency_key = std::string("a\0b", 3); }},
        {"idempotency_key", [](JobSpec& s) { s.idempotency_key = "a\x1B[2J"; }},
        {"retry policy", [](JobSpec& s) { s.retry.base = -1s; }},
        {"retry policy", [](JobSpec& s) { s.retry.cap = Duration::max(); }},
        {"retry policy", [](JobSpec& s) { s.retry.jitter = 2; }},
    };
    for (std::size_t i = 0; i < refusals.size(); ++i) {
        const auto status = validate_spec(spec_with(refusals[i].change));
        ASSERT_FALSE(status.has_value()) << i;
        EXPECT_EQ(status.error().code, base::ErrorCode::invalid_argument) << i;
        EXPECT_TRUE(status.error().message.starts_with(refusals[i].field))
            << i << ": " << status.error().message;
    }
}

TEST(Fingerprint, EveryFieldButTheKeyItselfCounts) {
    const std::vector<Change> changes{
        [](JobSpec&) {},
        [](JobSpec& s) { s.kind = "mail"; },
        [](JobSpec& s) { s.payload = "{ }"; },
        [](JobSpec& s) { s.queue = "other"; },
        [](JobSpec& s) { s.priority = 4; },
        [](JobSpec& s) { s.due = base::from_micros(1); },
        [](JobSpec& s) { s.delay = 1us; },
        [](JobSpec& s) { s.delay = 0us; },
        [](JobSpec& s) { s.max_attempts = 3; },
        [](JobSpec& s) { s.retry.jitter = 0.5; },
        [](JobSpec& s) { s.timeout = 1s; },
        [](JobSpec& s) { s.transactional = true; },
        [](JobSpec& s) { s.unique_key = "k"; },
    };
    std::set<std::string> seen;
    for (const Change& change : changes)
        seen.insert(fingerprint(spec_with(change)));
    EXPECT_EQ(seen.size(), changes.size());
    EXPECT_EQ(fingerprint(spec_with([](JobSpec& s) { s.idempotency_key = "k"; })),
              fingerprint(spec_with([](JobSpec&) {})));
}

TEST(Fingerprint, FieldsDoNotRunTogether) {
    const auto one = spec_with([](JobSpec& s) {
        s.kind = "ab";
        s.payload = "c";
    });
    const auto other = spec_with([](JobSpec& s) {
        s.kind = "a";
        s.payload = "bc";
    });
    EXPECT_NE(fingerprint(one), fingerprint(other));
}

TEST(Fingerprint, IsStableAcrossBuilds) {
    // A change here makes every idempotency key that is alive look reused for another request.
    EXPECT_EQ(fingerprint(spec_with([](JobSpec&) {})),
              "7821867c4049845f6851afc79b14268db807de7759395db45d3c8bc8e5496ba6");
}

} // namespace
} // namespace deadman::domain

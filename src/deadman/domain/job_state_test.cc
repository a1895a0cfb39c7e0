// Goal: the moves of a job are exactly those of the table, written here a second time by hand.

#include "deadman/domain/job_state.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace deadman::domain {
namespace {

using enum JobState;
using Event = JobEvent;

const std::vector<JobState> all_states{waiting,   scheduled, pending,   running,
                                       succeeded, failed,    cancelled, expired};

std::vector<JobEvent> all_events() {
    std::vector<JobEvent> events;
    for (int i = 0; i <= static_cast<int>(Event::operator_retry); ++i)
        events.push_back(static_cast<JobEvent>(i));
    return events;
}

const std::map<std::pair<JobState, JobEvent>, JobState> legal{
    {{waiting, Event::dependencies_met}, pending},
    {{waiting, Event::dependencies_met_later}, scheduled},
    {{waiting, Event::parent_failed}, failed},
    {{waiting, Event::cancel}, cancelled},
    {{scheduled, Event::due}, pending},
    {{scheduled, Event::claim}, running},
    {{scheduled, Event::cancel}, cancelled},
    {{scheduled, Event::expire}, expired},
    {{pending, Event::claim}, running},
    {{pending, Event::reschedule}, scheduled},
    {{pending, Event::cancel}, cancelled},
    {{pending, Event::expire}, expired},
    {{running, Event::succeed}, succeeded},
    {{running, Event::fail}, failed},
    {{running, Event::quarantine}, failed},
    {{running, Event::cancel}, cancelled},
    {{running, Event::retry}, scheduled},
    {{running, Event::snooze}, scheduled},
    {{running, Event::release}, pending},
    {{running, Event::lapse}, pending},
    {{failed, Event::operator_retry}, pending},
    {{cancelled, Event::operator_retry}, pending},
    {{expired, Event::operator_retry}, pending},
};

TEST(JobState, MovesAreExactlyThoseOfTheTable) {
    for (const JobState state : all_states)
        for (const JobEvent event : all_events()) {
            const auto expected = legal.find({state, event});
            const auto next = next_state(state, event);
            SCOPED_TRACE(std::string(job_state_name(state)) + " event " +
                         std::to_string(static_cast<int>(event)));
            ASSERT_EQ(next.has_value(), expected != legal.end());
            if (next) {
                EXPECT_EQ(*next, expected->second);
            }
        }
}

TEST(JobState, NamesAreDistinctAndReadBack) {
    std::set<std::string_view> names;
    for (const JobState state : all_states) {
        names.insert(job_state_name(state));
        EXPECT_EQ(parse_job_state(job_state_name(state)), state);
    }
    EXPECT_EQ(names.size(), all_states.size());
    EXPECT_EQ(parse_job_state("Pending"), std::nullopt);
    EXPECT_EQ(parse_job_state(""), std::nullopt);
}

TEST(JobState, TerminalStatesAreThoseThatOnlyAnOperatorLeaves) {
    for (const JobState state : all_states) {
        bool moves_by_itself = false;
        for (const JobEvent event : all_events())
            moves_by_itself |=
                event != Event::operator_retry && next_state(state, event).has_value();
        EXPECT_EQ(is_terminal(state), !moves_by_itself) << job_state_name(state);
    }
}

RC_GTEST_PROP(JobStateProperty, OnceTerminalOnlyAnOperatorsRetryMovesIt, ()) {
    JobState state = *rc::gen::element(waiting, scheduled, pending);
    const auto events =
        *rc::gen::container<std::vector<JobEvent>>(rc::gen::elementOf(all_events()));
    for (const JobEvent event : events) {
        const auto next = next_state(state, event);
        if (is_terminal(state) && next) {
            RC_ASSERT(event == Event::operator_retry && *next == pending && state != succeeded);
        }
        if (next) {
            RC_ASSERT(*next != state);
        }
        if (next && *next == running) {
            RC_ASSERT(event == Event::claim);
        }
        state = next.value_or(state);
    }
}

} // namespace
} // namespace deadman::domain

#include "apps/deadman/chaos/chaos_worker.h"

#include <gtest/gtest.h>

namespace deadman::chaos {
namespace {

TEST(WorkerBrief, ArrivesInTheOtherProcessAsItWasGiven) {
    WorkerBrief brief;
    brief.store = *parse_store_url("sqlite:/tmp/a b=c.db");
    brief.queue = "chaos-1";
    brief.workload = Workload::sha256;
    brief.guard = Guard::two_stores;
    brief.folder = "/tmp/x=y";
    brief.fates = {.seed = 18'446'744'073'709'551'615U, .death = 0.1, .pauses = 3, .jobs = 500};
    brief.lease = std::chrono::milliseconds(2'500);
    brief.slots = 7;
    brief.work = std::chrono::microseconds(20'001);
    brief.max_crashes = 1'000;

    const auto read = parse_brief(format_brief(brief));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->store.text(), brief.store.text());
    EXPECT_EQ(read->queue, brief.queue);
    EXPECT_EQ(read->workload, brief.workload);
    EXPECT_EQ(read->guard, brief.guard);
    EXPECT_EQ(read->folder, brief.folder);
    EXPECT_EQ(read->fates.seed, brief.fates.seed);
    EXPECT_EQ(read->fates.death, brief.fates.death) << "to the last bit";
    EXPECT_EQ(read->fates.pauses, 3);
    EXPECT_EQ(read->fates.jobs, 500);
    EXPECT_EQ(read->lease, brief.lease);
    EXPECT_EQ(read->slots, 7);
    EXPECT_EQ(read->work, brief.work);
    EXPECT_EQ(read->max_crashes, 1'000);
}

TEST(WorkerBrief, IsRefusedWhenAPartIsMissing) {
    auto arguments = format_brief({});
    ASSERT_TRUE(parse_brief(arguments));
    for (std::size_t index = 0; index < arguments.size(); ++index) {
        auto fewer = arguments;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
        EXPECT_FALSE(parse_brief(fewer)) << arguments[index];
    }
}

} // namespace
} // namespace deadman::chaos

// Goal: one event is one line that a machine or a person can read, whatever the values hold, and a
// storm is thinned out without losing its count.

#include "deadman/telemetry/log.h"

#include <limits>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <yyjson.h>

#include "deadman/base/utf8.h"
#include "deadman/telemetry/sinks.h"

namespace deadman::telemetry {
namespace {

using namespace std::chrono_literals;

struct JobTag;
using JobId = base::StrongId<JobTag>;

const base::TimePoint some_time = base::from_micros(1'709'208'000'000'123);

/// A sink that a limit applies to.
class LimitedSink final : public Sink {
  public:
    void write(const Event& event) override {
        memory.write(event);
    }

    MemorySink memory;
};

Event event_with(Fields fields) {
    return {
        .time = some_time, .level = Level::warn, .name = "lease_lost", .fields = std::move(fields)};
}

TEST(LogText, JsonHasTimeLevelEventAndFieldsInOrder) {
    EXPECT_EQ(format_json(event_with({{"job_id", JobId{9007199254740993}},
                                      {"attempt", 3},
                                      {"alone", true},
                                      {"share", 0.25},
                                      {"took_us", base::Duration(5ms)},
                                      {"error", base::fail(base::ErrorCode::fenced, "too late")},
                                      {"bytes", std::uint64_t{18446744073709551615U}}})),
              R"({"ts":"2024-02-29T12:00:00.000123Z","level":"warn","event":"lease_lost",)"
              R"("job_id":"9007199254740993","attempt":3,"alone":true,"share":0.25,"took_us":5000,)"
              R"("error":"fenced: too late","bytes":18446744073709551615})");
}

TEST(LogText, ConsoleLineIsShortAndQuotesWhatNeedsIt) {
    EXPECT_EQ(
        format_console(event_with(
            {{"queue", "mail"}, {"why", "no renewal"}, {"empty", ""}, {"odd", "a=b\"c"}})),
        R"(2024-02-29 12:00:00.000Z warn  lease_lost queue=mail why="no renewal" empty="" odd="a=b\"c")");
}

TEST(LogText, NothingSteersATerminalOrForgesALine) {
    const Event event = event_with({{"text", "\x1B[2J\nts=1 \xC2\x9B"
                                             "31m\x7F\xFF"}});
    for (const std::string& line : {format_json(event), format_console(event)}) {
        EXPECT_NE(line.find(R"(\u001b[2J\nts=1 \u009b31m\u007f)"), std::string::npos) << line;
        for (const char c : line)
            EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
    }
}

TEST(LogText, LongValuesAreCutAndNumbersThatJsonLacksAreText) {
    EXPECT_LT(format_json(event_with({{"text", std::string(100'000, 'x')}})).size(), 1200U);
    const double none = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THAT(format_json(event_with({{"n", none}})), testing::HasSubstr("\"n\":\"nan\""));
}

RC_GTEST_PROP(LogTextProperty, AnyValueMakesOneLineOfJsonThatCarriesIt, (const std::string& text)) {
    const std::string line = format_json(event_with({{"text", text}}));
    RC_ASSERT(line.find('\n') == std::string::npos);
    const std::unique_ptr<yyjson_doc, decltype(&yyjson_doc_free)> document(
        yyjson_read(line.data(), line.size(), 0), &yyjson_doc_free);
    RC_ASSERT(document != nullptr);
    yyjson_val* value = yyjson_obj_get(yyjson_doc_get_root(document.get()), "text");
    if (base::find_invalid_utf8(text) == std::string_view::npos) {
        RC_ASSERT(std::string(yyjson_get_str(value), yyjson_get_len(value)) == text);
    }
}

TEST(Log, PassesOnWhatIsAtOrAboveItsLevel) {
    const base::SimulatedClock clock(some_time);
    MemorySink sink;
    Log log(clock, sink, {.level = Level::warn});
    log.debug("a");
    log.info("b");
    log.warn("c", {{"job_id", JobId{12}}});
    log.error("d");
    const auto events = sink.events();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].name, "c");
    EXPECT_EQ(events[0].time, some_time);
    EXPECT_EQ(events[0].field("job_id"), "12");
    EXPECT_EQ(events[0].field("fence"), std::nullopt);
    EXPECT_EQ(events[1].level, Level::error);
}

TEST(Log, AStormOfOneEventIsThinnedOutAndItsCountToldLater) {
    base::SimulatedClock clock;
    LimitedSink sink;
    Log log(clock, sink, {.burst = 3, .window = 1s});
    for (int i = 0; i < 10; ++i)
        log.warn("store_unavailable");
    log.warn("lease_lost");
    EXPECT_EQ(sink.memory.count("store_unavailable"), 3U);
    EXPECT_EQ(sink.memory.count("lease_lost"), 1U);
    clock.advance(1s);
    log.warn("store_unavailable");
    ASSERT_EQ(sink.memory.count("store_unavailable"), 4U);
    EXPECT_EQ(sink.memory.events("store_unavailable").back().field("held_back"), "7");
    log.warn("store_unavailable");
    EXPECT_EQ(sink.memory.events("store_unavailable").back().field("held_back"), std::nullopt);
}

TEST(Log, WhatWasHeldBackIsToldAtTheEnd) {
    const base::SimulatedClock clock;
    LimitedSink sink;
    {
        Log log(clock, sink, {.burst = 1});
        log.info("tick");
        log.info("tick");
        log.info("tick");
    }
    const auto events = sink.memory.events("log_held_back");
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].field("event_name"), "tick");
    EXPECT_EQ(events[0].field("count"), "2");
}

TEST(Log, ABurstOfZeroMeansNoLimitAndTestsSeeEverything) {
    const base::SimulatedClock clock;
    LimitedSink limited;
    Log unlimited(clock, limited, {.burst = 0});
    MemorySink memory;
    Log test_log(clock, memory, {.burst = 1});
    for (int i = 0; i < 200; ++i) {
        unlimited.info("tick");
        test_log.info("tick");
    }
    EXPECT_EQ(limited.memory.count("tick"), 200U);
    EXPECT_EQ(memory.count("tick"), 200U);
}

TEST(Log, ManyThreadsLoseNoEvent) {
    const base::SimulatedClock clock;
    LimitedSink sink;
    {
        Log log(clock, sink, {.burst = 10});
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                for (int n = 0; n < 250; ++n)
                    log.info("tick");
            });
    }
    EXPECT_EQ(sink.memory.count("tick"), 10U);
    EXPECT_EQ(sink.memory.events("log_held_back").at(0).field("count"), "990");
}

TEST(Log, LevelNamesReadBack) {
    for (const Level level : {Level::debug, Level::info, Level::warn, Level::error})
        EXPECT_EQ(parse_level(level_name(level)), level);
    EXPECT_EQ(parse_level("WARN"), std::nullopt);
}

} // namespace
} // namespace deadman::telemetry

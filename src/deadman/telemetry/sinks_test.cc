// Goal: lines reach standard error and files whole; the memory sink can be waited on.

#include "deadman/telemetry/sinks.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

namespace deadman::telemetry {
namespace {

using namespace std::chrono_literals;

Event tick() {
    return {
        .time = base::from_micros(0), .level = Level::info, .name = "tick", .fields = {{"n", 1}}};
}

TEST(StderrSink, WritesOneLinePerEvent) {
    testing::internal::CaptureStderr();
    {
        const auto sink = make_stderr_sink(LogFormat::json);
        sink->write(tick());
        sink->write(tick());
    }
    const std::string line =
        R"({"ts":"1970-01-01T00:00:00.000000Z","level":"info","event":"tick","n":1})"
        "\n";
    EXPECT_EQ(testing::internal::GetCapturedStderr(), line + line);
}

TEST(StderrSink, ConsoleLinesAreForPeople) {
    testing::internal::CaptureStderr();
    make_stderr_sink(LogFormat::console)->write(tick());
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "1970-01-01 00:00:00.000Z info  tick n=1\n");
}

TEST(FileSink, AppendsAndFlushesEachLine) {
    const std::string path = testing::TempDir() + "/deadman_file_sink.log";
    std::filesystem::remove(path);
    {
        const auto sink = make_file_sink(path, LogFormat::console);
        ASSERT_TRUE(sink.has_value()) << sink.error().message;
        (*sink)->write(tick());
        std::stringstream text;
        text << std::ifstream(path).rdbuf();
        EXPECT_EQ(text.str(), "1970-01-01 00:00:00.000Z info  tick n=1\n");
    }
    std::filesystem::remove(path);
}

TEST(FileSink, APathThatCannotBeWrittenIsAnError) {
    const auto sink = make_file_sink("/proc/version/log", LogFormat::json);
    ASSERT_FALSE(sink.has_value());
    EXPECT_EQ(sink.error().code, base::ErrorCode::unavailable);
}

TEST(MemorySink, AWaiterIsWokenByItsEventAndGivesUpWithoutOne) {
    MemorySink sink;
    std::jthread writer([&] { sink.write(tick()); });
    EXPECT_TRUE(sink.wait_for("tick"));
    EXPECT_FALSE(sink.wait_for("tick", 2, 1ms));
    sink.clear();
    EXPECT_EQ(sink.count("tick"), 0U);
}

TEST(LogFormat, NamesReadBack) {
    EXPECT_EQ(parse_log_format(log_format_name(LogFormat::json)), LogFormat::json);
    EXPECT_EQ(parse_log_format(log_format_name(LogFormat::console)), LogFormat::console);
    EXPECT_EQ(parse_log_format("xml"), std::nullopt);
}

} // namespace
} // namespace deadman::telemetry

#include "apps/deadman/bench/bench_jobs.h"

#include <charconv>
#include <format>

namespace deadman::bench {
namespace {

std::int64_t number_after(std::string_view text, std::string_view name, std::int64_t otherwise) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos)
        return otherwise;
    std::int64_t value = otherwise;
    std::from_chars(text.data() + at + name.size(), text.data() + text.size(), value);
    return value;
}

} // namespace

std::string write_payload(const BenchPayload& payload, int bytes) {
    std::string text = std::format(R"({{"n":{},"t":{},"turn":{},"pad":")", payload.number,
                                   payload.sent_us, static_cast<int>(payload.turn));
    const std::size_t wanted = bytes < 2 ? 0 : static_cast<std::size_t>(bytes) - 2;
    if (text.size() < wanted)
        text.append(wanted - text.size(), 'x');
    return text + "\"}";
}

BenchPayload read_payload(std::string_view text) {
    const std::int64_t turn = number_after(text, R"("turn":)", 0);
    return {.number = number_after(text, R"("n":)", -1),
            .sent_us = number_after(text, R"("t":)", 0),
            .turn = turn == 1   ? Turn::retry
                    : turn == 2 ? Turn::snooze
                                : Turn::none};
}

domain::JobSpec bench_job(const char* kind, const std::string& queue, int payload_bytes) {
    domain::JobSpec spec;
    spec.kind = kind;
    spec.queue = queue;
    spec.payload = write_payload({}, payload_bytes);
    return spec;
}

} // namespace deadman::bench

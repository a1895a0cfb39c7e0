#include "apps/deadman/bench/part.h"

#include <charconv>
#include <condition_variable>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include "apps/deadman/bench/bench_target.h"
#include "apps/deadman/bench/samples.h"

namespace deadman::bench {
namespace {

using base::ErrorCode;

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts)
        all += (all.empty() ? "" : ",") + text;
    return all;
}

void wait_for_end_of_input() {
    for (std::string line; std::getline(std::cin, line);) {
    }
}

/// Every number in `text` after `name`.
std::vector<std::int64_t> numbers_after(std::string_view text, std::string_view name) {
    std::vector<std::int64_t> numbers;
    std::size_t at = text.find(name);
    if (at == std::string_view::npos)
        return numbers;
    const char* place = text.data() + at + name.size();
    const char* const end = text.data() + text.size();
    while (place < end) {
        std::int64_t number = 0;
        const auto read = std::from_chars(place, end, number);
        if (read.ec != std::errc())
            break;
        numbers.push_back(number);
        place = read.ptr;
        if (place == end || *place != ',')
            break;
        ++place;
    }
    return numbers;
}

} // namespace

std::vector<std::string> worker_arguments(const wiring::StoreUrl& store, const WorkerBrief& brief,
                                          const std::string& file) {
    std::vector<std::string> arguments{"work",
                                       "--store=" + store.text(),
                                       "--queues=" + joined(brief.queues),
                                       "--slots=" + std::to_string(brief.slots),
                                       "--prefetch=" + std::to_string(brief.prefetch),
                                       "--tell=" + file};
    if (brief.tell_starts)
        arguments.emplace_back("--tell-starts");
    if (brief.tell_returns)
        arguments.emplace_back("--tell-returns");
    if (!brief.upkeep)
        arguments.emplace_back("--no-upkeep");
    return arguments;
}

std::vector<std::string> enqueue_arguments(const wiring::StoreUrl& store, const EnqueueLoad& load,
                                           base::TimePoint start_at) {
    return {"enqueue",
            "--store=" + store.text(),
            "--queue=" + load.queue,
            "--jobs=" + std::to_string(load.jobs),
            "--threads=" + std::to_string(load.threads),
            "--batch=" + std::to_string(load.batch),
            "--payload-bytes=" + std::to_string(load.payload_bytes),
            "--start-at=" + std::to_string(base::to_micros(start_at))};
}

base::Result<platform::ChildProcess> spawn_part(const std::vector<std::string>& arguments,
                                                bool read_output) {
    DEADMAN_TRY(const std::string program, platform::executable_path());
    platform::SpawnOptions options;
    options.argv = {program, "bench-part"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.stdin_to = platform::StreamTo::pipe;
    options.stdout_to = read_output ? platform::StreamTo::pipe : platform::StreamTo::null;
    return platform::ChildProcess::spawn(options);
}

base::Status run_worker_part(const std::string& store_url, const WorkerBrief& brief,
                             const std::string& file) {
    base::SystemClock clock;
    DEADMAN_TRY(const wiring::StoreUrl url, wiring::parse_store_url(store_url));
    DEADMAN_TRY(const auto store, wiring::open_store(url, clock));
    std::ofstream out;
    if (file != "-")
        out.open(file);
    std::ostream& lines = file == "-" ? std::cout : out;
    const Tell tell = [&](std::string_view line) { lines << line << '\n' << std::flush; };
    std::stop_source stop;
    std::thread input([&] {
        wait_for_end_of_input();
        stop.request_stop();
    });
    run_bench_worker(*store, clock, brief, tell, stop.get_token());
    input.join();
    return {};
}

base::Status run_enqueue_part(const std::string& store_url, const EnqueueLoad& load,
                              std::int64_t start_at_us) {
    base::SystemClock clock;
    DEADMAN_TRY(const wiring::StoreUrl url, wiring::parse_store_url(store_url));
    DEADMAN_TRY(const auto store, wiring::open_store(url, clock));
    DEADMAN_TRY_STATUS(store->now()); // connected
    const base::Duration ahead = base::from_micros(start_at_us) - clock.now();
    if (start_at_us > 0 && ahead > base::Duration{}) {
        std::mutex mutex;
        std::condition_variable never;
        std::unique_lock lock(mutex);
        clock.wait_until(lock, never, clock.steady_now() + ahead, [] { return false; });
    }
    DEADMAN_TRY(const EnqueueTimes times, run_enqueue_load(*store, clock, load));
    std::string calls;
    for (const base::Duration call : times.calls)
        calls += (calls.empty() ? "" : ",") + std::to_string(call.count());
    std::cout << R"(R {"n":)" << times.jobs << R"(,"secs":)"
              << decimal(seconds_of(times.to - times.from), 6) << R"(,"from_us":)"
              << base::to_micros(times.from) << R"(,"to_us":)" << base::to_micros(times.to)
              << R"(,"calls_us":[)" << calls << "]}\n";
    return {};
}

base::Result<EnqueueTimes> read_enqueue_times(std::string_view output) {
    const auto jobs = numbers_after(output, R"("n":)");
    const auto from = numbers_after(output, R"("from_us":)");
    const auto to = numbers_after(output, R"("to_us":)");
    if (jobs.empty() || from.empty() || to.empty())
        return base::fail(ErrorCode::internal, "a process that enqueues has failed");
    EnqueueTimes times{.jobs = jobs.front(),
                       .from = base::from_micros(from.front()),
                       .to = base::from_micros(to.front()),
                       .calls = {}};
    for (const std::int64_t call : numbers_after(output, R"("calls_us":[)"))
        times.calls.emplace_back(call);
    return times;
}

base::Status run_server_part() {
    base::SystemClock clock;
    DEADMAN_TRY(const auto target, BenchTarget::open("postgres:auto", clock));
    std::cout << target->url().target << '\n' << std::flush;
    wait_for_end_of_input();
    return {};
}

} // namespace deadman::bench

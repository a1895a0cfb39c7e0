#include "apps/deadman/bulk_enqueue.h"

#include <algorithm>
#include <format>
#include <utility>

#include "apps/deadman/job_line.h"

namespace deadman::cli {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr int most_tries = 6;
constexpr std::size_t most_kinds = 1'000;

enum class ReadLine { line, too_long, end };

/// One line without its end; the memory it takes is bounded.
ReadLine read_line(std::istream& input, std::string& line, Interruption& interruption) {
    const Interruption::Blocked blocked(interruption); // the other end may say nothing for hours
    line.clear();
    std::streambuf& buffer = *input.rdbuf();
    constexpr int end = std::char_traits<char>::eof();
    for (int c = buffer.sbumpc(); c != end; c = buffer.sbumpc()) {
        if (c == '\n')
            return ReadLine::line;
        if (line.size() == longest_line_bytes)
            return ReadLine::too_long;
        line += static_cast<char>(c);
    }
    return line.empty() ? ReadLine::end : ReadLine::line;
}

bool is_blank(const std::string& line) {
    return line.find_first_not_of(" \t\r") == std::string::npos;
}

base::Error at_line(std::int64_t number, const base::Error& error) {
    return base::fail(error.code, std::format("line {}: {}", number, error.message));
}

} // namespace

BulkEnqueue::BulkEnqueue(JobBackend& backend, Interruption& interruption, BulkOptions options)
    : backend_(backend), interruption_(interruption), options_(std::move(options)),
      bounds_(backend.batch_bounds()) {}

base::Status BulkEnqueue::run(std::istream& input) {
    std::string line;
    while (true) {
        const ReadLine read = read_line(input, line, interruption_);
        if (read == ReadLine::end)
            return flush();
        ++last_line_;
        bytes_ += line.size() + 1;
        const base::Status added =
            read == ReadLine::too_long
                ? base::Status(base::fail(
                      ErrorCode::invalid_argument,
                      std::format("line {}: longer than {} bytes", last_line_, longest_line_bytes)))
                : add(last_line_, line);
        if (!added) {
            DEADMAN_TRY_STATUS(flush());
            return added;
        }
        if (interruption_.happened())
            return base::fail(ErrorCode::cancelled, "interrupted");
    }
}

base::Status BulkEnqueue::add(std::int64_t number, const std::string& line) {
    if (is_blank(line))
        return {};
    auto spec = read_job_line(line);
    if (!spec)
        return at_line(number, spec.error());
    if (!options_.idempotency_prefix.empty() && spec->idempotency_key.empty()) {
        spec->idempotency_key = std::format("{}:{}", options_.idempotency_prefix, number);
        if (const auto checked = domain::validate_spec(*spec); !checked)
            return at_line(number, checked.error());
    }
    if (report_.kinds.size() < most_kinds)
        report_.kinds.insert(spec->kind);
    if (!specs_.empty() &&
        (specs_.size() >= bounds_.most_jobs || batch_bytes_ + line.size() > bounds_.most_bytes))
        DEADMAN_TRY_STATUS(flush());
    batch_bytes_ += line.size();
    specs_.push_back(std::move(*spec));
    numbers_.push_back(number);
    return {};
}

base::Status BulkEnqueue::flush() {
    if (specs_.empty())
        return {};
    const auto jobs = send(specs_);
    base::Status sent;
    if (jobs) {
        for (std::size_t index = 0; index < jobs->size(); ++index)
            record(index, (*jobs)[index]);
    } else if (specs_.size() > 1 && (jobs.error().code == ErrorCode::invalid_argument ||
                                     jobs.error().code == ErrorCode::conflict)) {
        sent = send_one_by_one(); // all or none: none is in, and we do not know which was wrong
    } else if (jobs.error().code == ErrorCode::outcome_unknown) {
        sent =
            base::fail(ErrorCode::outcome_unknown,
                       std::format("lines {} to {} may be enqueued or not, the answer was lost: {}",
                                   numbers_.front(), numbers_.back(), jobs.error().message));
    } else {
        sent = at_line(numbers_.front(), jobs.error());
    }
    report_.lines = sent ? numbers_.back() : report_.lines;
    interruption_.set_farewell(
        std::format("interrupted; the first {} lines are done with", report_.lines));
    specs_.clear();
    numbers_.clear();
    batch_bytes_ = 0;
    if (options_.on_progress)
        options_.on_progress(report_.lines, bytes_);
    return sent;
}

base::Result<std::vector<store::Enqueued>>
BulkEnqueue::send(std::span<const domain::JobSpec> specs) {
    const bool repeatable = std::all_of(
        specs.begin(), specs.end(), [](const auto& spec) { return !spec.idempotency_key.empty(); });
    base::Duration pause = 100ms;
    for (int tried = 1;; ++tried, pause *= 2) {
        auto jobs = backend_.enqueue(specs);
        const bool again =
            !jobs && (jobs.error().code == ErrorCode::unavailable ||
                      (jobs.error().code == ErrorCode::outcome_unknown && repeatable));
        // What was never there is not waited for.
        if (!again || tried == most_tries || report_.lines == 0)
            return jobs;
        if (!interruption_.pause(pause))
            return base::fail(ErrorCode::cancelled, "interrupted");
    }
}

base::Status BulkEnqueue::send_one_by_one() {
    for (std::size_t index = 0; index < specs_.size(); ++index) {
        const auto jobs = send(std::span(specs_).subspan(index, 1));
        if (!jobs)
            return at_line(numbers_[index], jobs.error());
        record(index, jobs->front());
        report_.lines = numbers_[index];
    }
    return {};
}

void BulkEnqueue::record(std::size_t index, const store::Enqueued& job) {
    ++(job.is_new ? report_.enqueued : report_.existing);
    if (options_.on_job)
        options_.on_job(numbers_[index], job);
}

} // namespace deadman::cli

#include "apps/deadman/chaos/report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include <yyjson.h>

namespace deadman::chaos {
namespace {

constexpr std::size_t most_named = 20;
constexpr std::size_t most_slowest = 5;

// A JSON object under construction.
class Object {
  public:
    Object(yyjson_mut_doc* document, yyjson_mut_val* object)
        : document_(document), object_(object) {}

    void add(const char* name, std::int64_t value) {
        yyjson_mut_obj_add_int(document_, object_, name, value);
    }

    void add(const char* name, const std::string& value) {
        yyjson_mut_obj_add_strcpy(document_, object_, name, value.c_str());
    }

    void add_number(const char* name, double value) {
        yyjson_mut_obj_add_real(document_, object_, name, std::round(value * 1000) / 1000);
    }

    void add_flag(const char* name, bool value) {
        yyjson_mut_obj_add_bool(document_, object_, name, value);
    }

    void add_ms(const char* name, base::Duration value) {
        add_number(name, std::chrono::duration<double, std::milli>(value).count());
    }

    void add_percentiles(const char* name, const std::vector<base::Duration>& samples) {
        const Percentiles found = percentiles(samples);
        Object inner = child(name);
        inner.add_ms("p50", found.p50);
        inner.add_ms("p99", found.p99);
        inner.add_ms("max", found.max);
        inner.add("samples", static_cast<std::int64_t>(samples.size()));
    }

    /// Job ids as strings, as everywhere at the edges.
    void add_ids(const char* name, const std::vector<std::int64_t>& ids) {
        yyjson_mut_val* list = yyjson_mut_obj_add_arr(document_, object_, name);
        for (std::size_t index = 0; index < ids.size() && index < most_named; ++index)
            yyjson_mut_arr_add_strcpy(document_, list, std::to_string(ids[index]).c_str());
    }

    /// The runs that waited longest, to look them up in the journal and the logs.
    void add_slowest(const char* name, std::vector<Rescue> rescues) {
        std::sort(rescues.begin(), rescues.end(),
                  [](const Rescue& a, const Rescue& b) { return a.took > b.took; });
        yyjson_mut_val* list = yyjson_mut_obj_add_arr(document_, object_, name);
        for (std::size_t index = 0; index < rescues.size() && index < most_slowest; ++index) {
            Object one(document_, yyjson_mut_arr_add_obj(document_, list));
            one.add("job", std::to_string(rescues[index].job));
            one.add("fence", std::to_string(rescues[index].fence));
            one.add("pid", rescues[index].pid);
            one.add("due_us", base::to_micros(rescues[index].due));
            one.add_ms("ms", rescues[index].took);
        }
    }

    Object child(const char* name) {
        return {document_, yyjson_mut_obj_add_obj(document_, object_, name)};
    }

  private:
    yyjson_mut_doc* document_;
    yyjson_mut_val* object_;
};

std::int64_t size(const std::vector<std::int64_t>& ids) {
    return static_cast<std::int64_t>(ids.size());
}

void add_setting(Object& object, const Report& report) {
    object.add("store", report.store);
    object.add("guard", report.guard);
    object.add("seed", static_cast<std::int64_t>(report.seed));
    object.add_number("kill_rate", report.kill_rate);
    object.add_ms("lease_ms", report.lease);
    object.add("workers", report.workers);
    object.add("slots", report.slots);
    object.add("max_crashes", report.max_crashes);
}

void add_counts(Object& object, const Report& report) {
    object.add("jobs", report.jobs);
    object.add("succeeded", report.verdict.succeeded);
    object.add("effects", report.verdict.effects);
    object.add("lost", size(report.verdict.lost));
    object.add("duplicated", size(report.verdict.duplicated));
    object.add("quarantined", report.verdict.quarantined);
    object.add("failed", report.verdict.failed);
    object.add("unearned", size(report.verdict.unearned));
    object.add("unfinished", report.verdict.unfinished);
    object.add("runs", report.runs);
    object.add("lapsed", report.lapsed);
    object.add("released", report.released);
    object.add_number("lapsed_share", report.share());
    object.add("kills", report.kills);
    object.add("kills_by_fate", report.kills_by_fate);
    object.add("pauses", report.pauses);
    Object stages = object.child("pauses_by_stage");
    stages.add("in_handler", report.pauses_in_handler);
    stages.add("in_transaction", report.pauses_in_transaction);
    stages.add("before_answer", report.pauses_before_answer);
    object.add("exits", report.exits);
    object.add("fenced", report.fenced);
}

} // namespace

double share_tolerance(std::int64_t runs) {
    constexpr double usual = 0.05;
    constexpr std::int64_t enough = 500;
    return runs >= enough
               ? usual
               : std::max(usual,
                          2 / std::sqrt(static_cast<double>(std::max<std::int64_t>(runs, 1))));
}

double Report::share() const {
    return runs == 0 ? 0 : static_cast<double>(lapsed) / static_cast<double>(runs);
}

bool Report::share_is_right() const {
    return std::abs(share() - kill_rate) <= share_tolerance(runs);
}

bool Report::ok() const {
    return !timed_out && verdict.lost.empty() && verdict.duplicated.empty() &&
           verdict.unearned.empty() && verdict.succeeded + verdict.quarantined == jobs &&
           share_is_right();
}

std::string to_json(const Report& report) {
    yyjson_mut_doc* document = yyjson_mut_doc_new(nullptr);
    yyjson_mut_val* root = yyjson_mut_obj(document);
    yyjson_mut_doc_set_root(document, root);
    Object object(document, root);
    add_setting(object, report);
    add_counts(object, report);
    object.add_ms("blocked_ms", report.blocked);
    object.add_percentiles("rescue_ms", report.timings.rescue_times());
    object.add_percentiles("restart_ms", report.timings.restarts);
    object.add_slowest("slowest_rescues", report.timings.rescues);
    object.add_ms("elapsed_ms", report.elapsed);
    object.add_flag("timed_out", report.timed_out);
    object.add_ids("lost_jobs", report.verdict.lost);
    object.add_ids("duplicated_jobs", report.verdict.duplicated);
    object.add_flag("ok", report.ok());
    const std::unique_ptr<char, decltype(&std::free)> text(
        yyjson_mut_write(document, YYJSON_WRITE_PRETTY_TWO_SPACES, nullptr), &std::free);
    yyjson_mut_doc_free(document);
    return text ? std::string(text.get()) + "\n" : "{}\n";
}

std::string summary_line(const Report& report) {
    std::string line = std::to_string(report.verdict.succeeded) + " succeeded, " +
                       std::to_string(report.verdict.effects) + " effects, " +
                       std::to_string(report.verdict.lost.size()) + " lost, " +
                       std::to_string(report.verdict.duplicated.size()) + " duplicated, " +
                       std::to_string(report.kills) + " workers killed";
    if (report.verdict.quarantined > 0)
        line += ", " + std::to_string(report.verdict.quarantined) + " quarantined";
    if (report.verdict.unfinished > 0)
        line += ", " + std::to_string(report.verdict.unfinished) + " not finished in time";
    return line;
}

} // namespace deadman::chaos

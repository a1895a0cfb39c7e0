#include "deadman/http/job_listing.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "deadman/domain/time_words.h"
#include "deadman/http/internal/digest.h"
#include "deadman/http/query.h"

namespace deadman::http {
namespace {

constexpr std::array<std::string_view, 8> known{"state",   "kind",       "queue", "finished",
                                                "created", "utc_offset", "limit", "cursor"};
constexpr int most_per_page = 1'000;
constexpr std::size_t signature_bytes = 16;
constexpr std::size_t position_bytes = 7 * 8;

Checked<void> read_states(const Query& query, store::JobFilter& filter) {
    for (const std::string& name : query.values("state")) {
        const auto state = domain::parse_job_state(name);
        if (!state)
            return invalid_parameter("state", "must be waiting, scheduled, pending, running, "
                                              "succeeded, failed, cancelled or expired");
        if (std::find(filter.states.begin(), filter.states.end(), *state) == filter.states.end())
            filter.states.push_back(*state);
    }
    std::sort(filter.states.begin(), filter.states.end());
    return {};
}

/// A name that no job can have is refused: it is a slip, not an empty list.
Checked<void> read_name(const Query& query, const char* parameter, std::string& out) {
    if (!query.has(parameter))
        return {};
    out = query.value(parameter);
    domain::JobSpec spec;
    spec.kind = out;
    if (auto valid = domain::validate_spec(spec); !valid)
        return invalid_parameter(parameter, valid.error().message.substr(6));
    return {};
}

Checked<void> read_limit(const Query& query, store::JobFilter& filter) {
    if (!query.has("limit"))
        return {};
    const std::string text = query.value("limit");
    int limit = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
    if (error != std::errc() || end != text.data() + text.size() || limit < 1 ||
        limit > most_per_page)
        return invalid_parameter("limit", "must be a whole number from 1 to 1000");
    filter.limit = limit;
    return {};
}

struct Bounds {
    std::optional<base::TimePoint>& from;
    std::optional<base::TimePoint>& until;
};

Checked<void> read_range(const Query& query, const char* parameter, base::TimePoint now,
                         base::Duration utc_offset, Bounds bounds) {
    if (!query.has(parameter))
        return {};
    const auto range = domain::parse_time_range(query.value(parameter), now, utc_offset);
    if (!range)
        return invalid_parameter(parameter, range.error().message);
    bounds.from = range->from;
    bounds.until = range->until;
    return {};
}

Checked<base::Duration> read_utc_offset(const Query& query) {
    if (!query.has("utc_offset"))
        return base::Duration{};
    std::string text = query.value("utc_offset");
    if (text.starts_with(' ')) // a '+' that was not escaped
        text.front() = '+';
    const auto offset = domain::parse_utc_offset(text);
    if (!offset)
        return invalid_parameter("utc_offset", offset.error().message);
    return *offset;
}

std::string text_of(const Query& query, const store::JobFilter& filter) {
    std::string text;
    for (const domain::JobState state : filter.states)
        text += std::string(domain::job_state_name(state)) + ",";
    for (const char* parameter : {"kind", "queue", "finished", "created", "utc_offset"})
        text += "\n" + query.value(parameter);
    return text;
}

void put(std::string& out, std::int64_t number) {
    for (int shift = 56; shift >= 0; shift -= 8)
        out += static_cast<char>((static_cast<std::uint64_t>(number) >> shift) & 255U);
}

std::int64_t take(std::string_view& in) {
    std::uint64_t number = 0;
    for (const char c : in.substr(0, 8))
        number = (number << 8U) | static_cast<unsigned char>(c);
    in.remove_prefix(8);
    return static_cast<std::int64_t>(number);
}

constexpr std::int64_t open_bound = -1; // real ones are never before 1970

void put(std::string& out, const std::optional<base::TimePoint>& bound) {
    put(out, bound ? base::to_micros(*bound) : open_bound);
}

std::optional<base::TimePoint> take_bound(std::string_view& in) {
    const std::int64_t micros = take(in);
    return micros == open_bound ? std::nullopt : std::optional(base::from_micros(micros));
}

} // namespace

std::string JobListings::signature(std::string_view position, std::string_view filter_text) const {
    return keyed_sha256(signing_key_, std::string(position) + std::string(filter_text))
        .substr(0, signature_bytes);
}

Checked<JobListing> JobListings::read(std::string_view text, base::TimePoint now) const {
    const auto query = Query::parse(text, known, "state");
    if (!query)
        return query.error();
    const auto offset = read_utc_offset(*query);
    if (!offset)
        return offset.error();
    JobListing listing;
    store::JobFilter& filter = listing.filter;
    for (auto result : {read_states(*query, filter), read_name(*query, "kind", filter.kind),
                        read_name(*query, "queue", filter.queue), read_limit(*query, filter),
                        read_range(*query, "finished", now, *offset,
                                   {filter.finished_from, filter.finished_until}),
                        read_range(*query, "created", now, *offset,
                                   {filter.created_from, filter.created_until})}) {
        if (!result)
            return result.error();
    }
    listing.filter_text = text_of(*query, filter);
    if (query->has("cursor")) {
        if (auto resumed = resume(listing, query->value("cursor")); !resumed)
            return resumed.error();
    }
    return listing;
}

std::string JobListings::cursor(const JobListing& listing, const store::JobCursor& next) const {
    std::string position;
    put(position, base::to_micros(next.at));
    put(position, next.id.value);
    put(position, listing.filter.finished_from);
    put(position, listing.filter.finished_until);
    put(position, listing.filter.created_from);
    put(position, listing.filter.created_until);
    put(position, std::int64_t{1}); // the version of this layout
    return to_base64url(position + signature(position, listing.filter_text));
}

Checked<void> JobListings::resume(JobListing& listing, std::string_view cursor) const {
    const std::string bytes = from_base64url(cursor);
    if (bytes.size() != position_bytes + signature_bytes ||
        !equal_in_constant_time(
            std::string_view(bytes).substr(position_bytes),
            signature(std::string_view(bytes).substr(0, position_bytes), listing.filter_text))) {
        Problem problem = invalid_parameter(
            "cursor", "was not given for this filter, or is damaged: begin without one");
        problem.code = "invalid_cursor";
        return problem;
    }
    std::string_view rest = bytes;
    store::JobCursor after;
    after.at = base::from_micros(take(rest));
    after.id = domain::JobId{take(rest)};
    listing.filter.after = after;
    listing.filter.finished_from = take_bound(rest);
    listing.filter.finished_until = take_bound(rest);
    listing.filter.created_from = take_bound(rest);
    listing.filter.created_until = take_bound(rest);
    return {};
}

} // namespace deadman::http

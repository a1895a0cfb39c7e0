#include "deadman/http/job_input.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include <openssl/evp.h>
#include <yyjson.h>

#include "deadman/base/check.h"
#include "deadman/base/duration_text.h"
#include "deadman/base/json_slices.h"
#include "deadman/base/utf8.h"
#include "deadman/domain/time_words.h"
#include "deadman/http/internal/digest.h"

namespace deadman::http {
namespace {

using domain::JobSpec;

constexpr std::size_t most_errors = 20;

Problem malformed(std::string_view body) {
    Problem problem{400, "malformed_json", "the body is not a JSON object", {}, {}, {}};
    if (body.empty())
        problem.detail = "the body is empty";
    return problem;
}

FieldError wrong(std::string_view member, std::string code, std::string message) {
    return {"/" + std::string(member), {}, std::move(code), std::move(message)};
}

/// A member's value, parsed. Scalars only: what is deeper is the payload's.
class Scalar {
  public:
    explicit Scalar(std::string_view json)
        : document_(yyjson_read(json.data(), json.size(), YYJSON_READ_NOFLAG), &yyjson_doc_free),
          root_(yyjson_doc_get_root(document_.get())) {}

    bool is_valid() const {
        return root_ != nullptr;
    }

    bool is_null() const {
        return yyjson_is_null(root_);
    }

    std::optional<std::string> text() const {
        if (!yyjson_is_str(root_))
            return std::nullopt;
        return std::string(yyjson_get_str(root_), yyjson_get_len(root_));
    }

    std::optional<int> integer() const {
        if (!yyjson_is_int(root_))
            return std::nullopt;
        const std::int64_t number = yyjson_get_sint(root_);
        if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max())
            return std::nullopt;
        return static_cast<int>(number);
    }

    std::optional<bool> boolean() const {
        if (!yyjson_is_bool(root_))
            return std::nullopt;
        return yyjson_get_bool(root_);
    }

  private:
    std::unique_ptr<yyjson_doc, decltype(&yyjson_doc_free)> document_;
    yyjson_val* root_;
};

using Wrong = std::optional<FieldError>;

Wrong set_text(std::string_view member, const Scalar& value, std::string& out) {
    auto text = value.text();
    if (!text)
        return wrong(member, "type", "must be a string");
    out = std::move(*text);
    return std::nullopt;
}

/// An empty key would mean none: whoever wrote it meant one.
Wrong set_key(std::string_view member, const Scalar& value, std::string& out) {
    Wrong problem = set_text(member, value, out);
    if (!problem && out.empty())
        return wrong(member, "size", "must not be empty");
    return problem;
}

Wrong set_integer(std::string_view member, const Scalar& value, int& out) {
    const auto number = value.integer();
    if (!number)
        return wrong(member, "type", "must be a whole number of at most 32 bits");
    out = *number;
    return std::nullopt;
}

/// A text that `parse` understands.
template <typename T, typename Out>
Wrong set_parsed(std::string_view member, const Scalar& value,
                 base::Result<T> (*parse)(std::string_view), const char* example, Out& out) {
    const auto text = value.text();
    if (!text)
        return wrong(member, "type", std::string("must be a string such as ") + example);
    auto parsed = parse(*text);
    if (!parsed)
        return wrong(member, "invalid", parsed.error().message);
    out = *parsed;
    return std::nullopt;
}

Wrong set_boolean(std::string_view member, const Scalar& value, bool& out) {
    const auto answer = value.boolean();
    if (!answer)
        return wrong(member, "type", "must be true or false");
    out = *answer;
    return std::nullopt;
}

Wrong set_field(JobSpec& spec, std::string_view member, const Scalar& value) {
    if (member == "kind")
        return set_text(member, value, spec.kind);
    if (member == "queue")
        return set_text(member, value, spec.queue);
    if (member == "priority")
        return set_integer(member, value, spec.priority);
    if (member == "due")
        return set_parsed(member, value, &domain::parse_rfc3339, "\"2026-03-01T09:30:00Z\"",
                          spec.due);
    if (member == "delay")
        return set_parsed(member, value, &base::parse_duration, "\"90s\"", spec.delay);
    if (member == "max_attempts")
        return set_integer(member, value, spec.max_attempts);
    if (member == "retry")
        return set_parsed(member, value, &domain::parse_retry_policy, "\"exponential:1s:1h:0.25\"",
                          spec.retry);
    if (member == "timeout")
        return set_parsed(member, value, &base::parse_duration, "\"90s\"", spec.timeout);
    if (member == "transactional")
        return set_boolean(member, value, spec.transactional);
    if (member == "unique_key")
        return set_key(member, value, spec.unique_key);
    if (member == "idempotency_key")
        return set_key(member, value, spec.idempotency_key);
    return wrong(member, "unknown_member", "is not a member of a job");
}

/// The part of a domain message before its colon is the member that it is about.
FieldError from_domain(const base::Error& error) {
    const std::size_t colon = error.message.find(": ");
    if (colon == std::string::npos)
        return {"", {}, "invalid", error.message};
    return wrong(error.message.substr(0, colon), "invalid", error.message.substr(colon + 2));
}

struct ReadJob {
    JobSpec spec;
    std::vector<FieldError> errors;
    bool too_large = false;
};

void read_payload(ReadJob& job, std::string_view json, const domain::PayloadLimits& limits) {
    job.too_large = json.size() > limits.max_bytes;
    if (auto checked = domain::validate_payload(json, limits); !checked) {
        FieldError error = from_domain(checked.error());
        error.code = job.too_large ? "too_large" : "invalid";
        job.errors.push_back(std::move(error));
        return;
    }
    job.spec.payload = std::string(json);
}

void read_member(ReadJob& job, const base::JsonMember& member,
                 const domain::PayloadLimits& limits) {
    if (member.key == "payload")
        return read_payload(job, member.value, limits);
    const std::string name = domain::clean_text(member.key, 80);
    if (member.value.front() == '{' || member.value.front() == '[') {
        job.errors.push_back(wrong(name, "type", "must not be an object or an array"));
        return;
    }
    const Scalar value(member.value);
    if (!value.is_valid())
        job.errors.push_back(wrong(name, "invalid", "is not valid JSON"));
    else if (value.is_null() && name != "kind")
        return; // as if it were not there
    else if (auto error = set_field(job.spec, name, value))
        job.errors.push_back(std::move(*error));
}

void refuse_repeated(ReadJob& job, const std::vector<base::JsonMember>& members) {
    std::vector<std::string_view> names;
    for (const base::JsonMember& member : members)
        names.push_back(member.key);
    std::sort(names.begin(), names.end());
    if (const auto twin = std::adjacent_find(names.begin(), names.end()); twin != names.end())
        job.errors.push_back(
            wrong(domain::clean_text(*twin, 80), "duplicate", "stands twice in the object"));
}

ReadJob read_members(const std::vector<base::JsonMember>& members,
                     const domain::PayloadLimits& limits) {
    ReadJob job;
    refuse_repeated(job, members);
    for (const base::JsonMember& member : members)
        read_member(job, member, limits);
    const bool has_kind =
        std::any_of(members.begin(), members.end(),
                    [](const base::JsonMember& member) { return member.key == "kind"; });
    if (!has_kind)
        job.errors.push_back(wrong("kind", "required", "must be given"));
    if (job.errors.empty()) {
        if (auto checked = domain::validate_spec(job.spec); !checked)
            job.errors.push_back(from_domain(checked.error()));
    }
    return job;
}

Problem refused(std::vector<FieldError> errors, bool too_large) {
    Problem problem{422, "invalid_request", "", {}, {}, {}};
    if (too_large)
        problem.status = 413, problem.code = "too_large";
    problem.detail = errors.front().pointer + ": " + errors.front().message;
    if (errors.size() > 1)
        problem.detail += " (and " + std::to_string(errors.size() - 1) + " more)";
    problem.errors = std::move(errors);
    return problem;
}

/// The array in {"jobs":[...]}.
Checked<std::vector<std::string_view>> batch_items(std::string_view body) {
    const auto members = base::slice_object(body);
    if (!members)
        return malformed(body);
    for (const base::JsonMember& member : *members) {
        if (member.key != "jobs")
            return invalid_field("/" + domain::clean_text(member.key, 80), "unknown_member",
                                 "is not a member of a batch");
    }
    if (members->size() != 1)
        return invalid_field("/jobs", members->empty() ? "required" : "duplicate",
                             "must stand there once");
    auto items = base::slice_array(members->front().value);
    if (!items)
        return invalid_field("/jobs", "type", "must be an array of jobs");
    if (items->empty() || items->size() > max_batch_jobs)
        return invalid_field("/jobs", "size", "must hold 1 to 10,000 jobs");
    return std::move(*items);
}

} // namespace

Checked<JobSpec> read_job(std::string_view body, const domain::PayloadLimits& limits) {
    const auto members = base::slice_object(body);
    if (!members)
        return malformed(body);
    ReadJob job = read_members(*members, limits);
    if (!job.errors.empty())
        return refused(std::move(job.errors), job.too_large);
    return std::move(job.spec);
}

Checked<std::vector<JobSpec>> read_batch(std::string_view body,
                                         const domain::PayloadLimits& limits) {
    const auto items = batch_items(body);
    if (!items)
        return items.error();
    std::vector<JobSpec> jobs;
    std::vector<FieldError> errors;
    bool too_large = false;
    for (std::size_t i = 0; i < items->size() && errors.size() < most_errors; ++i) {
        const std::string place = "/jobs/" + std::to_string(i);
        const auto members = base::slice_object((*items)[i]);
        if (!members) {
            errors.push_back({place, {}, "type", "must be an object"});
            continue;
        }
        ReadJob job = read_members(*members, limits);
        too_large = too_large || job.too_large;
        for (FieldError& error : job.errors) {
            error.pointer.insert(0, place);
            errors.push_back(std::move(error));
        }
        jobs.push_back(std::move(job.spec));
    }
    if (!errors.empty())
        return refused(std::move(errors), too_large);
    return jobs;
}

Checked<std::string> read_idempotency_key(std::string_view header) {
    std::string key(header);
    if (header.starts_with('"')) {
        key.clear();
        std::size_t at = 1;
        for (; at < header.size() && header[at] != '"'; ++at) {
            if (header[at] == '\\' && ++at == header.size())
                break;
            key += header[at];
        }
        if (at + 1 != header.size())
            return invalid_parameter("Idempotency-Key", "the quoted string does not end");
    }
    if (key.empty() || key.size() > domain::max_name_bytes)
        return invalid_parameter("Idempotency-Key", "must have 1 to 200 bytes");
    const bool printable = std::all_of(key.begin(), key.end(), [](char c) {
        return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
    });
    if (!printable || base::find_invalid_utf8(key) != std::string_view::npos)
        return invalid_parameter("Idempotency-Key", "must be printable UTF-8");
    return key;
}

void bind_to_key(std::vector<JobSpec>& jobs, const std::string& key) {
    // One job's fingerprint cannot tell that the rest of the batch differs; the scope can.
    std::string all;
    for (const JobSpec& job : jobs)
        all += domain::fingerprint(job) + job.idempotency_key + "\n";
    const std::string scope = sha256_hex(all);
    const std::string stem = "batch:" + sha256_hex(key) + ":";
    bool is_bound = false;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (!jobs[i].idempotency_key.empty())
            continue;
        // One of them carries the key itself, so that a single job cannot use it again.
        jobs[i].idempotency_key = is_bound ? stem + std::to_string(i) : key;
        is_bound = true;
        jobs[i].idempotency_scope = scope;
    }
}

} // namespace deadman::http

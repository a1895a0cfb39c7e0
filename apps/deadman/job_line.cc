#include "apps/deadman/job_line.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include <yyjson.h>

#include "apps/deadman/command_line.h"
#include "deadman/base/check.h"
#include "deadman/base/duration_text.h"
#include "deadman/base/json_slices.h"
#include "deadman/domain/payload.h"
#include "deadman/domain/time_words.h"

namespace deadman::cli {
namespace {

using base::ErrorCode;
using domain::JobSpec;

base::Error refuse(std::string_view field, std::string_view why) {
    return base::fail(ErrorCode::invalid_argument, std::string(field) + ": " + std::string(why));
}

/// A member of the object: parsed, and as it was written.
struct Member {
    std::string_view name;
    yyjson_val* value = nullptr;
    std::string_view text;
};

base::Result<std::string> text_of(const Member& member) {
    if (!yyjson_is_str(member.value))
        return refuse(member.name, "must be a text");
    return std::string(yyjson_get_str(member.value), yyjson_get_len(member.value));
}

/// An empty key would mean none: whoever wrote it meant one.
base::Result<std::string> key_of(const Member& member) {
    auto text = text_of(member);
    if (text && text->empty())
        return refuse(member.name, "must not be empty");
    return text;
}

base::Result<int> whole_of(const Member& member) {
    if (!yyjson_is_int(member.value))
        return refuse(member.name, "must be a whole number");
    // Out of int's range is out of every field's range: let the check of the spec say so.
    if (yyjson_is_uint(member.value))
        return static_cast<int>(
            std::min<std::uint64_t>(yyjson_get_uint(member.value), 1'000'000'000));
    return static_cast<int>(std::max<std::int64_t>(yyjson_get_sint(member.value), -1'000'000'000));
}

base::Result<base::Duration> duration_of(const Member& member) {
    const auto text = text_of(member);
    if (!text)
        return refuse(member.name, "must be a duration such as \"90s\"");
    auto duration = base::parse_duration(*text);
    if (!duration)
        return refuse(member.name, duration.error().message);
    return duration;
}

struct Field {
    std::string_view name;
    base::Status (*take)(const Member& member, JobSpec& spec);
};

constexpr std::array fields{
    Field{"kind",
          [](const Member& m, JobSpec& spec) -> base::Status {
              DEADMAN_TRY(spec.kind, text_of(m));
              return {};
          }},
    Field{"payload",
          [](const Member& m, JobSpec& spec) -> base::Status {
              spec.payload = std::string(m.text);
              return {};
          }},
    Field{"queue",
          [](const Member& m, JobSpec& spec) -> base::Status {
              DEADMAN_TRY(spec.queue, text_of(m));
              return {};
          }},
    Field{"priority",
          [](const Member& m, JobSpec& spec) -> base::Status {
              DEADMAN_TRY(spec.priority, whole_of(m));
              return {};
          }},
    Field{"due",
          [](const Member& m, JobSpec& spec) -> base::Status {
              DEADMAN_TRY(const std::string text, text_of(m));
              const auto time = domain::parse_rfc3339(text);
              if (!time)
                  return refuse(m.name, time.error().message);
              spec.due = *time;
              return {};
          }},
    Field{"delay",
          [](const Member& m, JobSpec& spec) -> base::Status {
              DEADMAN_TRY(spec.delay, duration_of(m));
              return {};
          }},
    Field{"max_attempts",
          [](const Member& m, JobSpec& spec) -> base::Status {
              DEADMAN_TRY(spec.max_attempts, whole_of(m));
              return {};
          }},
    Field{"retry",
          [](const Member& m, JobSpec& spec) -> base::Status {
              DEADMAN_TRY(const std::string text, text_of(m));
              DEADMAN_TRY(spec.retry, domain::parse_retry_policy(text));
              return {};
          }},
    Field{"timeout",
          [](const Member& m, JobSpec& spec) -> base::Status {
              DEADMAN_TRY(spec.timeout, duration_of(m));
              return {};
          }},
    Field{"transactional",
          [](const Member& m, JobSpec& spec) -> base::Status {
              if (!yyjson_is_bool(m.value))
                  return refuse(m.name, "must be true or false");
              spec.transactional = yyjson_get_bool(m.value);
              return {};
          }},
    Field{"unique_key",
          [](const Member& m, JobSpec& spec) -> base::Status {
              DEADMAN_TRY(spec.unique_key, key_of(m));
              return {};
          }},
    Field{"idempotency_key",
          [](const Member& m, JobSpec& spec) -> base::Status {
              DEADMAN_TRY(spec.idempotency_key, key_of(m));
              return {};
          }},
};

base::Status take_member(const Member& member, JobSpec& spec) {
    std::vector<std::string> names;
    for (const Field& field : fields) {
        if (field.name == member.name)
            // null: not given. A payload may be null.
            return yyjson_is_null(member.value) && field.name != "payload"
                       ? base::Status()
                       : field.take(member, spec);
        names.emplace_back(field.name);
    }
    const std::string meant = nearest(member.name, names);
    return refuse(member.name,
                  "no such field" + (meant.empty() ? "" : "; did you mean '" + meant + "'?"));
}

/// Valid JSON that nests too deep, holds a NUL or says a key twice is refused like a payload that
/// does.
base::Status check_line(std::string_view line) {
    domain::PayloadLimits limits;
    limits.max_bytes = longest_line_bytes;
    limits.max_depth += 1; // the line itself is one level around the payload
    const base::Status checked = domain::validate_payload(line, limits);
    if (checked)
        return {};
    std::string message = checked.error().message;
    if (message.starts_with("payload: "))
        message.erase(0, 9);
    return base::fail(checked.error().code, message);
}

struct FreeDocument {
    void operator()(yyjson_doc* document) const {
        yyjson_doc_free(document);
    }
};

} // namespace

base::Result<domain::JobSpec> read_job_line(std::string_view line) {
    DEADMAN_TRY_STATUS(check_line(line));
    const std::unique_ptr<yyjson_doc, FreeDocument> document(
        yyjson_read(line.data(), line.size(), 0));
    yyjson_val* root = yyjson_doc_get_root(document.get());
    if (!yyjson_is_obj(root))
        return base::fail(ErrorCode::invalid_argument,
                          "a job is an object such as {\"kind\": \"mail.send\", \"payload\": {}}");
    const auto members = base::slice_object(line);
    DEADMAN_CHECK(members && members->size() == yyjson_obj_size(root));
    JobSpec spec;
    std::size_t index = 0;
    std::size_t count = 0;
    yyjson_val* key = nullptr;
    yyjson_val* value = nullptr;
    yyjson_obj_foreach(root, index, count, key, value) {
        const Member member{.name = {yyjson_get_str(key), yyjson_get_len(key)},
                            .value = value,
                            .text = (*members)[index].value};
        DEADMAN_TRY_STATUS(take_member(member, spec));
    }
    DEADMAN_TRY_STATUS(domain::validate_spec(spec));
    return spec;
}

} // namespace deadman::cli

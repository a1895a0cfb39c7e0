#include "deadman/domain/job.h"

#include <array>
#include <memory>

#include <openssl/evp.h>

#include "deadman/base/check.h"
#include "deadman/base/utf8.h"
#include "deadman/domain/duration_text.h"

namespace deadman::domain {
namespace {

using base::ErrorCode;

base::Error refuse(std::string_view field, std::string_view why) {
    return base::fail(ErrorCode::invalid_argument, std::string(field) + ": " + std::string(why));
}

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

base::Status validate_name(std::string_view field, std::string_view name) {
    if (name.empty())
        return refuse(field, "must not be empty");
    if (name.size() > max_name_bytes)
        return refuse(field, "at most " + std::to_string(max_name_bytes) + " bytes");
    if (!is_letter_or_digit(name.front()))
        return refuse(field, "must begin with an ASCII letter or digit");
    constexpr std::string_view others = "_.:/-";
    for (const char c : name)
        if (!is_letter_or_digit(c) && others.find(c) == std::string_view::npos)
            return refuse(field, "only ASCII letters, digits and _ . : / - are allowed");
    return {};
}

/// Keys are the caller's own text: anything printable.
base::Status validate_key(std::string_view field, std::string_view key) {
    if (key.size() > max_name_bytes)
        return refuse(field, "at most " + std::to_string(max_name_bytes) + " bytes");
    if (base::find_invalid_utf8(key) != std::string_view::npos)
        return refuse(field, "is not valid UTF-8");
    for (const char c : key)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            return refuse(field, "control characters are not allowed");
    return {};
}

base::Status validate_times(const JobSpec& spec) {
    constexpr base::Duration longest_delay = latest_time.time_since_epoch();
    if (spec.due && spec.delay)
        return refuse("due", "give due or delay, not both");
    if (spec.due && spec.due->time_since_epoch() < base::Duration::zero())
        return refuse("due", "must not lie before 1970");
    if (spec.due && *spec.due > latest_time)
        return refuse("due", "must not lie past the year 9999");
    if (spec.delay && *spec.delay < base::Duration::zero())
        return refuse("delay", "must not be negative");
    if (spec.delay && *spec.delay > longest_delay)
        return refuse("delay", "must not reach past the year 9999");
    if (spec.timeout < base::Duration::zero() || spec.timeout > longest_duration)
        return refuse("timeout", "must lie between 0 (none) and 10,000 years");
    return {};
}

/// SHA-256 over fields, each with its length before it: no two lists of fields run together.
class FieldHash {
  public:
    FieldHash() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
        DEADMAN_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
    }

    void add(std::string_view field) {
        add_raw(std::to_string(field.size()) + ":");
        add_raw(field);
    }

    void add(std::int64_t number) {
        add(std::to_string(number));
    }

    std::string hex() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
        unsigned int length = 0;
        DEADMAN_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1);
        constexpr std::string_view digits = "0123456789abcdef";
        std::string text;
        for (unsigned int i = 0; i < length; ++i) {
            text += digits[digest[i] >> 4];
            text += digits[digest[i] & 15U];
        }
        return text;
    }

  private:
    void add_raw(std::string_view bytes) {
        DEADMAN_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
    }

    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

} // namespace

base::Status validate_queue_name(std::string_view name) {
    return validate_name("queue", name);
}

base::Status validate_spec(const JobSpec& spec) {
    DEADMAN_TRY_STATUS(validate_name("kind", spec.kind));
    DEADMAN_TRY_STATUS(validate_name("queue", spec.queue));
    DEADMAN_TRY_STATUS(validate_key("unique_key", spec.unique_key));
    DEADMAN_TRY_STATUS(validate_key("idempotency_key", spec.idempotency_key));
    if (spec.priority < 0 || spec.priority > max_priority)
        return refuse("priority", "must lie between 0 and " + std::to_string(max_priority));
    if (spec.max_attempts < 1 || spec.max_attempts > max_attempts_bound)
        return refuse("max_attempts",
                      "must lie between 1 and " + std::to_string(max_attempts_bound));
    DEADMAN_TRY_STATUS(validate_times(spec));
    return validate_retry_policy(spec.retry);
}

std::string fingerprint(const JobSpec& spec) {
    FieldHash hash;
    hash.add(spec.kind);
    hash.add(spec.payload);
    hash.add(spec.queue);
    hash.add(std::int64_t{spec.priority});
    hash.add(spec.due ? std::to_string(base::to_micros(*spec.due)) : "");
    hash.add(spec.delay ? std::to_string(spec.delay->count()) : "");
    hash.add(std::int64_t{spec.max_attempts});
    hash.add(format_retry_policy(spec.retry));
    hash.add(spec.timeout.count());
    hash.add(std::int64_t{spec.transactional ? 1 : 0});
    hash.add(spec.unique_key);
    if (!spec.idempotency_scope.empty())
        hash.add(spec.idempotency_scope);
    return hash.hex();
}

} // namespace deadman::domain

#pragma once
// Problem: an error as the API answers it: application/problem+json (RFC 9457).
//
// Contract:      `code` is a stable snake_case name; the type is "urn:deadman:problem:" and that
// name.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/base/error.h"
#include "deadman/base/time.h"
#include "deadman/http/exchange.h"

namespace deadman::http {

/// What is wrong with one place of the request.
struct FieldError {
    std::string pointer;   // into the body, RFC 6901; empty with `parameter`
    std::string parameter; // of the query or a header
    std::string code;
    std::string message;
};

struct Problem {
    int status = 500;
    std::string code = "internal";
    std::string detail;
    std::vector<FieldError> errors;
    std::optional<std::chrono::seconds> retry_after;
    std::vector<std::pair<std::string, std::string>> headers;
};

/// The sentence that stands for a code.
std::string_view problem_title(std::string_view code);

/// What an error of the store means to a client.
Problem problem_of(const base::Error& error);

Response render(const Problem& problem, std::string_view request_id);

/// One wrong place: 422 unless `status` says otherwise.
Problem invalid_field(std::string pointer, std::string code, std::string message, int status = 422);
Problem invalid_parameter(std::string parameter, std::string message);

} // namespace deadman::http

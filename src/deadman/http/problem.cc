#include "deadman/http/problem.h"

#include <array>

#include "deadman/http/internal/json_writer.h"

namespace deadman::http {
namespace {

struct Title {
    std::string_view code;
    std::string_view title;
};

constexpr std::array titles{
    Title{"malformed_request", "The request is malformed"},
    Title{"malformed_json", "The body is not valid JSON"},
    Title{"invalid_request", "The request is not valid"},
    Title{"invalid_parameter", "A parameter is not valid"},
    Title{"invalid_cursor", "The cursor is not valid here"},
    Title{"unauthorised", "A bearer token is needed"},
    Title{"cross_site", "Requests from web pages of other sites are refused"},
    Title{"foreign_host", "This server does not answer for that host"},
    Title{"not_found", "There is no such thing"},
    Title{"method_not_allowed", "The method is not allowed here"},
    Title{"conflict", "The state of things does not allow it now"},
    Title{"already_finished", "The job had already finished"},
    Title{"too_large", "The body is too large"},
    Title{"unsupported_media_type", "Only application/json is accepted"},
    Title{"idempotency_key_reused", "The idempotency key was used for another request"},
    Title{"unavailable", "The server cannot do it now"},
    Title{"outcome_unknown", "It may have happened, or not"},
    Title{"exhausted", "A disk, a queue or the memory is full"},
    Title{"internal", "A fault of the server"},
};

Problem unavailable(std::string code, std::string detail) {
    Problem problem{503, std::move(code), std::move(detail), {}, std::chrono::seconds(1), {}};
    return problem;
}

} // namespace

std::string_view problem_title(std::string_view code) {
    for (const Title& entry : titles) {
        if (entry.code == code)
            return entry.title;
    }
    return titles.back().title;
}

Problem problem_of(const base::Error& error) {
    switch (error.code) {
    case base::ErrorCode::invalid_argument:
        return {422, "invalid_request", error.message, {}, {}, {}};
    case base::ErrorCode::not_found:
        return {404, "not_found", error.message, {}, {}, {}};
    case base::ErrorCode::already_exists:
    case base::ErrorCode::conflict:
    case base::ErrorCode::fenced:
    case base::ErrorCode::cancelled:
        return {409, "conflict", error.message, {}, {}, {}};
    case base::ErrorCode::unavailable:
        return unavailable("unavailable", error.message);
    case base::ErrorCode::exhausted:
        return unavailable("exhausted", error.message);
    case base::ErrorCode::outcome_unknown:
        return unavailable("outcome_unknown",
                           error.message +
                               "; look, or send it again with the same Idempotency-Key");
    case base::ErrorCode::internal:
        break;
    }
    // What went wrong inside is for the log, not for the network.
    return {500, "internal", "the server's log has the details under this request's id",
            {},  {},         {}};
}

Response render(const Problem& problem, std::string_view request_id) {
    JsonText text;
    JsonObject top = text.top();
    top.text("type", "urn:deadman:problem:" + problem.code)
        .text("title", problem_title(problem.code))
        .number("status", problem.status)
        .text("detail", problem.detail)
        .text("instance", "urn:deadman:request:" + std::string(request_id))
        .text("code", problem.code);
    if (!problem.errors.empty()) {
        JsonArray list = top.array("errors");
        for (const FieldError& error : problem.errors) {
            JsonObject entry = list.object();
            if (error.parameter.empty())
                entry.text("pointer", error.pointer);
            else
                entry.text("parameter", error.parameter);
            entry.text("code", error.code).text("message", error.message);
        }
    }
    Response response{problem.status, "application/problem+json", text.str(), problem.headers};
    if (problem.retry_after)
        response.headers.emplace_back("Retry-After", std::to_string(problem.retry_after->count()));
    return response;
}

Problem invalid_field(std::string pointer, std::string code, std::string message, int status) {
    Problem problem{status, "invalid_request", message, {}, {}, {}};
    problem.errors.push_back({std::move(pointer), {}, std::move(code), std::move(message)});
    return problem;
}

Problem invalid_parameter(std::string parameter, std::string message) {
    Problem problem{400, "invalid_parameter", parameter + ": " + message, {}, {}, {}};
    problem.errors.push_back({{}, std::move(parameter), "invalid", std::move(message)});
    return problem;
}

} // namespace deadman::http

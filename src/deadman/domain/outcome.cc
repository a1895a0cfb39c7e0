#include "deadman/domain/outcome.h"

#include <array>

namespace deadman::domain {
namespace {

constexpr std::array<std::pair<Outcome, std::string_view>, 8> names{{
    {Outcome::running, "running"},
    {Outcome::succeeded, "succeeded"},
    {Outcome::failed, "failed"},
    {Outcome::cancelled, "cancelled"},
    {Outcome::retry, "retry"},
    {Outcome::snooze, "snooze"},
    {Outcome::release, "release"},
    {Outcome::lapse, "lapse"},
}};

bool spends_attempt(AnswerKind kind) {
    return kind == AnswerKind::succeeded || kind == AnswerKind::error || kind == AnswerKind::failed;
}

} // namespace

std::string_view outcome_name(Outcome outcome) {
    for (const auto& [value, name] : names)
        if (value == outcome)
            return name;
    return "unknown";
}

std::optional<Outcome> parse_outcome(std::string_view name) {
    for (const auto& [value, known] : names)
        if (known == name)
            return value;
    return std::nullopt;
}

Outcome decide(const Answer& answer, int attempts_spent, int max_attempts, bool cancel_requested) {
    if (cancel_requested)
        return Outcome::cancelled;
    switch (answer.kind) {
    case AnswerKind::succeeded:
        return Outcome::succeeded;
    case AnswerKind::error:
        // Compared without adding: attempts_spent may be any number that a store holds.
        return attempts_spent >= max_attempts - 1 ? Outcome::failed : Outcome::retry;
    case AnswerKind::failed:
        return Outcome::failed;
    case AnswerKind::snooze:
        return Outcome::snooze;
    case AnswerKind::release:
        return Outcome::release;
    case AnswerKind::cancelled:
        return Outcome::cancelled;
    }
    return Outcome::failed;
}

int spent_after(const Answer& answer, Outcome outcome, int attempts_spent) {
    // A lapse says nothing of what the handler did, whatever answer came too late.
    if (outcome == Outcome::lapse || outcome == Outcome::running)
        return attempts_spent;
    return spends_attempt(answer.kind) ? attempts_spent + 1 : attempts_spent;
}

std::string_view verdict_name(Verdict verdict) {
    switch (verdict) {
    case Verdict::ok:
        return "ok";
    case Verdict::cancelled:
        return "cancelled";
    case Verdict::repeat:
        return "repeat";
    case Verdict::busy:
        return "busy";
    case Verdict::fenced:
        return "fenced";
    }
    return "unknown";
}

} // namespace deadman::domain

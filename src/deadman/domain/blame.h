#pragma once

// Who is blamed for a lapse: the lapse score, suspects, the crash count, quarantine. Pure.
//
// Source: PROTOCOL C5, case C07. A lapse proves nothing about any one of the jobs that the session
// held. The score picks out suspects; a suspect runs alone in its process, and only a death alone
// is a crash.

#include "deadman/base/time.h"

namespace deadman::domain {

inline constexpr int lapse_score_started = 3; // a renewal had named the run as started
inline constexpr int lapse_score_other = 1;
inline constexpr int suspect_from = 6;
inline constexpr int default_max_crashes = 3;
inline constexpr base::Duration default_first_crash_delay = std::chrono::seconds(1);
inline constexpr base::Duration max_crash_delay = std::chrono::minutes(5);

struct Blame {
    int lapse_score = 0;
    int crashes = 0;

    friend bool operator==(const Blame&, const Blame&) = default;
};

/// How one run came to lapse.
struct Lapse {
    bool counts = true;         // false in a time of grace, or when the worker fenced itself
    bool named_started = false; // a renewal had named this run as started
    bool alone = false;         // the session held exactly this one unended job when it was marked
};

/// What a job may do to its workers.
struct CrashTerms {
    int max_crashes = default_max_crashes;                  // 0: it is never quarantined
    base::Duration first_delay = default_first_crash_delay; // 0: it returns at once, always
};

Blame after_lapse(Blame before, const Lapse& lapse);

bool is_suspect(const Blame& blame);

bool is_quarantined(const Blame& blame, const CrashTerms& terms);

/// How long a job waits for its next start. Nothing but for a suspect that was alone when its
/// worker died: for that first_delay, doubled with every crash of its own.
base::Duration delay_after_lapse(const Blame& after, const Lapse& lapse, const CrashTerms& terms);

} // namespace deadman::domain

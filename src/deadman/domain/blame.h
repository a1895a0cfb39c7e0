#pragma once

// Who is blamed for a lapse: the lapse score, suspects, the crash count, quarantine. Pure.
//
// Source: PROTOCOL C5. A lapse proves nothing about any one of the jobs that the session held. The
// score picks out suspects; a suspect runs alone in its process, and only a death alone is a crash.

namespace deadman::domain {

inline constexpr int lapse_score_started = 3; // a renewal had named the run as started
inline constexpr int lapse_score_other = 1;
inline constexpr int suspect_from = 6;
inline constexpr int default_max_crashes = 3;

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

Blame after_lapse(Blame before, const Lapse& lapse);

bool is_suspect(const Blame& blame);

/// max_crashes 0: never.
bool is_quarantined(const Blame& blame, int max_crashes);

} // namespace deadman::domain

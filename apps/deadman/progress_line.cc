#include "apps/deadman/progress_line.h"

#include <algorithm>
#include <cstdio>

#include "deadman/platform/terminal.h"

namespace deadman {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration on_terminal = 150ms;
constexpr base::Duration elsewhere = 10s;

} // namespace

ProgressLine::ProgressLine(base::Clock& clock)
    : clock_(clock), terminal_(platform::stderr_is_terminal()) {}

ProgressLine::~ProgressLine() {
    finish();
}

void ProgressLine::show(const std::string& text) {
    const base::SteadyTime now = clock_.steady_now();
    if (now < next_)
        return;
    next_ = now + (terminal_ ? on_terminal : elsewhere);
    if (!terminal_) {
        std::fprintf(stderr, "%s\n", text.c_str());
        return;
    }
    width_ = std::max(width_, text.size());
    std::fprintf(stderr, "\r%-*s", static_cast<int>(width_), text.c_str());
}

void ProgressLine::finish() {
    if (terminal_ && width_ > 0)
        std::fputc('\n', stderr);
    width_ = 0;
}

} // namespace deadman

#pragma once
// ProgressLine: one line that is written again and again on a terminal, and now and then elsewhere.
//
// Thread-safety: external synchronization.

#include <string>

#include "deadman/base/clock.h"

namespace deadman {

class ProgressLine {
  public:
    explicit ProgressLine(base::Clock& clock);

    /// Ends the line, so that what follows starts on its own.
    ~ProgressLine();

    void show(const std::string& text);

    void finish();

  private:
    base::Clock& clock_;
    bool terminal_;
    base::SteadyTime next_{};
    std::size_t width_ = 0;
};

} // namespace deadman

#pragma once
// Mortal: carries out a run's fate when the run gets there.
//
// Thread-safety: the handler's thread.

#include <string>

#include "apps/deadman/chaos/fate.h"
#include "apps/deadman/chaos/journal.h"
#include "deadman/store/job_types.h"

namespace deadman::chaos {

class Mortal {
  public:
    Mortal(Fate fate, store::RunKey run, const Journal& journal, const std::string& folder);

    /// May not return (death), or return much later (pause).
    void reach(Stage stage) const;

  private:
    Fate fate_;
    store::RunKey run_;
    const Journal& journal_;
    const std::string& folder_; // where the parent's marks are
};

} // namespace deadman::chaos

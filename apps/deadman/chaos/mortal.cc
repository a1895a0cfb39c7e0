#include "apps/deadman/chaos/mortal.h"

#include <filesystem>

#include "deadman/platform/process.h"

namespace deadman::chaos {

Mortal::Mortal(Fate fate, store::RunKey run, const Journal& journal, const std::string& spare_path)
    : fate_(fate), run_(run), journal_(journal), spare_path_(spare_path) {}

void Mortal::reach(Stage stage) const {
    if (fate_.kind == FateKind::survives || fate_.stage != stage)
        return;
    if (fate_.kind == FateKind::pauses) {
        journal_.write(Note::pauses, run_, stage_name(stage));
        platform::stop_this_process();
        journal_.write(Note::wakes, run_, stage_name(stage));
        return;
    }
    std::error_code ignored;
    if (std::filesystem::exists(spare_path_, ignored))
        return;
    journal_.write(Note::dies, run_, stage_name(stage));
    platform::kill_this_process();
}

} // namespace deadman::chaos

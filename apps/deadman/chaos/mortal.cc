#include "apps/deadman/chaos/mortal.h"

#include <filesystem>

#include "apps/deadman/chaos/workload.h"
#include "deadman/platform/process.h"

namespace deadman::chaos {
namespace {

bool exists(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

} // namespace

Mortal::Mortal(Fate fate, store::RunKey run, const Journal& journal, const std::string& folder)
    : fate_(fate), run_(run), journal_(journal), folder_(folder) {}

void Mortal::reach(Stage stage) const {
    if (fate_.kind == FateKind::survives || fate_.stage != stage)
        return;
    if (fate_.kind == FateKind::pauses) {
        journal_.write(Note::pauses, run_, stage_name(stage));
        platform::stop_this_process();
        journal_.write(Note::wakes, run_, stage_name(stage));
        return;
    }
    if (exists(spare_path(folder_)) || (fate_.reluctant && !exists(hurry_path(folder_))))
        return;
    journal_.write(Note::dies, run_, stage_name(stage));
    platform::kill_this_process();
}

} // namespace deadman::chaos

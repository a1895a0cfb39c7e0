#include "deadman/worker/handler.h"

#include "deadman/base/check.h"

namespace deadman::worker {

void HandlerRegistry::add(std::string kind, Handler handler, Ending ending) {
    DEADMAN_CHECK(handler != nullptr);
    handlers_.insert_or_assign(std::move(kind), Entry{std::move(handler), ending});
}

const Handler* HandlerRegistry::find(std::string_view kind) const {
    const auto found = handlers_.find(kind);
    return found == handlers_.end() ? nullptr : &found->second.handler;
}

std::vector<std::string> HandlerRegistry::kinds() const {
    std::vector<std::string> names;
    names.reserve(handlers_.size());
    for (const auto& [kind, entry] : handlers_)
        names.push_back(kind);
    return names;
}

std::vector<std::string> HandlerRegistry::kinds(Ending ending) const {
    std::vector<std::string> names;
    for (const auto& [kind, entry] : handlers_)
        if (entry.ending == ending)
            names.push_back(kind);
    return names;
}

} // namespace deadman::worker

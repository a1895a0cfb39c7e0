#include "apps/deadman/store_url.h"

#include <optional>
#include <utility>

#include "deadman/store/postgres/private_server.h"

namespace deadman {

struct ThrowawayStore::Server {
    base::SystemClock clock;
    std::optional<store::PrivateServer> process;
};

ThrowawayStore::ThrowawayStore() = default;
ThrowawayStore::ThrowawayStore(ThrowawayStore&&) noexcept = default;
ThrowawayStore& ThrowawayStore::operator=(ThrowawayStore&&) noexcept = default;
ThrowawayStore::~ThrowawayStore() = default;

base::Result<ThrowawayStore> ThrowawayStore::resolve(const StoreUrl& url) {
    ThrowawayStore made;
    made.url_ = url;
    if (!url.automatic)
        return made;
    made.url_.automatic = false;
    if (url.kind == StoreUrl::Kind::sqlite) {
        DEADMAN_TRY(auto directory, platform::TemporaryDirectory::create("deadman-store"));
        made.directory_ = std::make_unique<platform::TemporaryDirectory>(std::move(directory));
        made.url_.target = made.directory_->path() + "/deadman.db";
        return made;
    }
    made.server_ = std::make_unique<Server>();
    DEADMAN_TRY(made.server_->process, store::PrivateServer::start(made.server_->clock));
    made.url_.target = made.server_->process->url();
    return made;
}

void ThrowawayStore::keep() {
    if (directory_)
        directory_->keep();
}

} // namespace deadman

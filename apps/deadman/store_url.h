#pragma once
// ThrowawayStore: the store behind sqlite:auto and postgres:auto, for bench and chaos.

#include <memory>
#include <string>
#include <string_view>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/platform/paths.h"
#include "deadman/wiring/store_url.h"

namespace deadman {

using wiring::open_store;
using wiring::parse_store_url;
using wiring::StoreUrl;

/// Where a URL is automatic, makes the store it stands for, and removes it in the end.
class ThrowawayStore {
  public:
    /// Any other URL is only carried.
    static base::Result<ThrowawayStore> resolve(const StoreUrl& url);

    ThrowawayStore(ThrowawayStore&&) noexcept;
    ThrowawayStore& operator=(ThrowawayStore&&) noexcept;
    ~ThrowawayStore();

    /// Never automatic.
    const StoreUrl& url() const {
        return url_;
    }

    /// Leaves what was made where it is (SQLite only; a server ends with this process).
    void keep();

  private:
    struct Server;

    ThrowawayStore();

    StoreUrl url_;
    std::unique_ptr<platform::TemporaryDirectory> directory_;
    std::unique_ptr<Server> server_;
};

} // namespace deadman

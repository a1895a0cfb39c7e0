#pragma once
// OwnedDescriptor: a file descriptor that is closed with its owner.

#include <unistd.h>

#include <utility>

namespace deadman::platform::internal {

class OwnedDescriptor {
  public:
    OwnedDescriptor() = default;

    explicit OwnedDescriptor(int descriptor) : descriptor_(descriptor) {}

    OwnedDescriptor(OwnedDescriptor&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)) {}

    OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }

    ~OwnedDescriptor() {
        reset();
    }

    int get() const {
        return descriptor_;
    }

    bool is_open() const {
        return descriptor_ >= 0;
    }

    void reset() {
        if (descriptor_ >= 0)
            ::close(std::exchange(descriptor_, -1));
    }

  private:
    int descriptor_ = -1;
};

} // namespace deadman::platform::internal

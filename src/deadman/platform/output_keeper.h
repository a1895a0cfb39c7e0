#pragma once
// OutputKeeper: the head and the tail of a stream of any length, in bounded memory. Pure.
//
// Thread-safety: external synchronization.

#include <cstdint>
#include <string>
#include <string_view>

namespace deadman::platform {

class OutputKeeper {
  public:
    explicit OutputKeeper(std::size_t max_bytes);

    void add(std::string_view bytes);

    /// All of it, or head, a line that says how much is missing, and tail. Raw bytes.
    std::string text() const {
        return text(head_bytes_ + tail_bytes_);
    }

    /// The same within `max_bytes`, where those are fewer; the line comes on top.
    std::string text(std::size_t max_bytes) const;

    std::uint64_t total_bytes() const {
        return total_bytes_;
    }

    bool is_truncated() const {
        return total_bytes_ > head_bytes_ + tail_bytes_;
    }

  private:
    std::size_t head_bytes_;
    std::size_t tail_bytes_;
    std::uint64_t total_bytes_ = 0;
    std::string head_;
    std::string tail_; // at most twice tail_bytes_; its end is what counts
};

} // namespace deadman::platform

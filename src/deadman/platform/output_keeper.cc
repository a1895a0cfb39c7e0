#include "deadman/platform/output_keeper.h"

#include <algorithm>

namespace deadman::platform {

OutputKeeper::OutputKeeper(std::size_t max_bytes)
    : head_bytes_(max_bytes / 2), tail_bytes_(max_bytes - max_bytes / 2) {}

void OutputKeeper::add(std::string_view bytes) {
    total_bytes_ += bytes.size();
    const std::size_t to_head = std::min(head_bytes_ - head_.size(), bytes.size());
    head_.append(bytes.substr(0, to_head));
    bytes.remove_prefix(to_head);
    if (bytes.size() > tail_bytes_)
        bytes.remove_prefix(bytes.size() - tail_bytes_);
    tail_.append(bytes);
    if (tail_.size() > 2 * tail_bytes_) // moved now and then, not with every byte
        tail_.erase(0, tail_.size() - tail_bytes_);
}

bool OutputKeeper::is_truncated() const {
    return total_bytes_ > head_bytes_ + tail_bytes_;
}

std::string OutputKeeper::text() const {
    if (!is_truncated())
        return head_ + tail_;
    const std::size_t kept = head_.size() + tail_bytes_;
    return head_ + "\n[... " + std::to_string(total_bytes_ - kept) + " bytes left out ...]\n" +
           tail_.substr(tail_.size() - tail_bytes_);
}

} // namespace deadman::platform

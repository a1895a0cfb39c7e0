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

std::string OutputKeeper::text(std::size_t max_bytes) const {
    max_bytes = std::min(max_bytes, head_bytes_ + tail_bytes_);
    if (total_bytes_ <= max_bytes)
        return head_ + tail_;
    const std::string whole = is_truncated() ? std::string{} : head_ + tail_;
    const std::string_view front = whole.empty() ? head_ : whole;
    const std::string_view back = whole.empty() ? tail_ : whole;
    const std::size_t head = max_bytes / 2;
    const std::size_t tail = max_bytes - head;
    std::string text(front.substr(0, head));
    text += "\n[... " + std::to_string(total_bytes_ - max_bytes) + " bytes left out ...]\n";
    text += back.substr(back.size() - tail);
    return text;
}

} // namespace deadman::platform

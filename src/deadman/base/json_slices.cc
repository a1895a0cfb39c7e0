#include "deadman/base/json_slices.h"

namespace deadman::base {
namespace {

class Slicer {
  public:
    explicit Slicer(std::string_view text) : text_(text) {}

    void skip_space() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' ||
                                      text_[at_] == '\r' || text_[at_] == '\t'))
            ++at_;
    }

    bool take(char expected) {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != expected)
            return false;
        ++at_;
        return true;
    }

    bool at_end() {
        skip_space();
        return at_ == text_.size();
    }

    /// A string with its quotes.
    std::optional<std::string_view> string() {
        const std::size_t begin = at_;
        if (at_ >= text_.size() || text_[at_] != '"')
            return std::nullopt;
        for (++at_; at_ < text_.size(); ++at_) {
            if (text_[at_] == '\\')
                ++at_;
            else if (text_[at_] == '"')
                return text_.substr(begin, ++at_ - begin);
        }
        return std::nullopt;
    }

    std::optional<std::string_view> value() {
        skip_space();
        if (at_ >= text_.size())
            return std::nullopt;
        if (text_[at_] == '"')
            return string();
        return text_[at_] == '{' || text_[at_] == '[' ? container() : scalar();
    }

  private:
    std::optional<std::string_view> container() {
        const std::size_t begin = at_;
        std::size_t depth = 0;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                if (!string())
                    return std::nullopt;
                continue;
            }
            ++at_;
            if (c == '{' || c == '[')
                ++depth;
            else if ((c == '}' || c == ']') && --depth == 0)
                return text_.substr(begin, at_ - begin);
        }
        return std::nullopt;
    }

    std::optional<std::string_view> scalar() {
        const std::size_t end = text_.find_first_of(" \n\r\t,:\"[]{}", at_);
        const std::size_t begin = at_;
        at_ = end == std::string_view::npos ? text_.size() : end;
        if (at_ == begin)
            return std::nullopt;
        return text_.substr(begin, at_ - begin);
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace

std::optional<std::vector<JsonMember>> slice_object(std::string_view text) {
    Slicer slicer(text);
    std::vector<JsonMember> members;
    if (!slicer.take('{'))
        return std::nullopt;
    if (slicer.take('}'))
        return slicer.at_end() ? std::optional(members) : std::nullopt;
    do {
        slicer.skip_space();
        const auto key = slicer.string();
        if (!key || !slicer.take(':'))
            return std::nullopt;
        const auto value = slicer.value();
        if (!value)
            return std::nullopt;
        members.push_back({key->substr(1, key->size() - 2), *value});
    } while (slicer.take(','));
    if (!slicer.take('}') || !slicer.at_end())
        return std::nullopt;
    return members;
}

std::optional<std::vector<std::string_view>> slice_array(std::string_view text) {
    Slicer slicer(text);
    std::vector<std::string_view> values;
    if (!slicer.take('['))
        return std::nullopt;
    if (slicer.take(']'))
        return slicer.at_end() ? std::optional(values) : std::nullopt;
    do {
        const auto value = slicer.value();
        if (!value)
            return std::nullopt;
        values.push_back(*value);
    } while (slicer.take(','));
    if (!slicer.take(']') || !slicer.at_end())
        return std::nullopt;
    return values;
}

} // namespace deadman::base

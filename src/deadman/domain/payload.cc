#include "deadman/domain/payload.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <yyjson.h>

#include "deadman/base/utf8.h"

namespace deadman::domain {
namespace {

using base::ErrorCode;

base::Error refuse(std::string why) {
    return base::fail(ErrorCode::invalid_argument, "payload: " + std::move(why));
}

std::string at_byte(std::size_t offset) {
    return " at byte " + std::to_string(offset);
}

/// Deep input is refused before the parser allocates for it. Brackets inside strings do not count;
/// on text that is no JSON the answer may be off, and the parser refuses that anyway.
base::Status check_depth(std::string_view json, std::size_t max_depth) {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t at = 0; at < json.size(); ++at) {
        const char c = json[at];
        if (in_string) {
            if (c == '\\')
                ++at;
            else if (c == '"')
                in_string = false;
            continue;
        }
        if (c == '"')
            in_string = true;
        else if ((c == '[' || c == '{') && ++depth > max_depth)
            return refuse("nested deeper than " + std::to_string(max_depth) + at_byte(at));
        else if ((c == ']' || c == '}') && depth > 0)
            --depth;
    }
    return {};
}

/// A container on the way down, and what remains to be seen of it.
struct Frame {
    yyjson_val* next = nullptr; // the next value (array) or key (object)
    std::size_t remaining = 0;
    std::size_t index = 0;
    bool is_object = false;
    std::string_view key;
};

std::string_view text_of(yyjson_val* value) {
    return {yyjson_get_str(value), yyjson_get_len(value)};
}

/// Looks at every value of a parsed document, with a stack of its own: the depth of the input never
/// becomes the depth of our calls.
class Walk {
  public:
    base::Status run(yyjson_val* root) {
        DEADMAN_TRY_STATUS(visit(root));
        while (!stack_.empty()) {
            if (stack_.back().remaining == 0) {
                stack_.pop_back();
                continue;
            }
            DEADMAN_TRY_STATUS(visit(step(stack_.back())));
        }
        return {};
    }

  private:
    static yyjson_val* step(Frame& frame) {
        yyjson_val* value = frame.next;
        if (frame.is_object) {
            frame.key = text_of(value);
            value = unsafe_yyjson_get_next(value);
        }
        frame.next = unsafe_yyjson_get_next(value);
        --frame.remaining;
        ++frame.index;
        return value;
    }

    base::Status visit(yyjson_val* value) {
        if (yyjson_is_raw(value))
            return refuse("a number that fits neither 64 bits nor a double" + where());
        if (yyjson_is_str(value) && text_of(value).find('\0') != std::string_view::npos)
            return refuse("a NUL in text" + where());
        if (yyjson_is_obj(value))
            DEADMAN_TRY_STATUS(check_keys(value));
        if (yyjson_is_ctn(value) && unsafe_yyjson_get_len(value) > 0)
            stack_.push_back({.next = unsafe_yyjson_get_first(value),
                              .remaining = unsafe_yyjson_get_len(value),
                              .index = 0,
                              .is_object = yyjson_is_obj(value),
                              .key = {}});
        return {};
    }

    base::Status check_keys(yyjson_val* object) {
        keys_.clear();
        std::size_t index = 0;
        std::size_t count = 0;
        yyjson_val* key = nullptr;
        yyjson_val* value = nullptr;
        yyjson_obj_foreach(object, index, count, key, value) {
            if (text_of(key).find('\0') != std::string_view::npos)
                return refuse("a NUL in a key" + where());
            keys_.push_back(text_of(key));
        }
        std::sort(keys_.begin(), keys_.end());
        const auto twin = std::adjacent_find(keys_.begin(), keys_.end());
        if (twin != keys_.end())
            return refuse("the key '" + clean_text(*twin, 80) + "' stands twice" + where());
        return {};
    }

    /// The place as a path like /items/3/id, its end if it is long.
    std::string where() const {
        constexpr std::size_t most = 120;
        std::string path;
        for (auto frame = stack_.rbegin(); frame != stack_.rend(); ++frame) {
            const std::string part =
                frame->is_object ? clean_text(frame->key, 40) : std::to_string(frame->index - 1);
            if (path.size() + part.size() > most)
                return " at ..." + path;
            path.insert(0, "/" + part);
        }
        return path.empty() ? " at the top" : " at " + path;
    }

    std::vector<Frame> stack_;
    std::vector<std::string_view> keys_;
};

struct FreeDocument {
    void operator()(yyjson_doc* document) const {
        yyjson_doc_free(document);
    }
};

using Document = std::unique_ptr<yyjson_doc, FreeDocument>;

base::Result<Document> parse(std::string_view json) {
    yyjson_read_err error{};
    // Without the flag for insitu parsing yyjson copies the text, whatever the missing const says.
    Document document(yyjson_read_opts(const_cast<char*>(json.data()), json.size(),
                                       YYJSON_READ_BIGNUM_AS_RAW, nullptr, &error));
    if (document)
        return document;
    if (error.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return base::fail(ErrorCode::exhausted, "payload: out of memory while reading it");
    return refuse(std::string("not valid JSON: ") + error.msg + at_byte(error.pos));
}

/// The longest piece of `text` up to `bytes` that ends between characters. `text` is valid UTF-8.
std::string_view head_of(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes)
        return text;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
        --bytes;
    return text.substr(0, bytes);
}

} // namespace

base::Status validate_payload(std::string_view json, const PayloadLimits& limits) {
    if (json.size() > limits.max_bytes)
        return refuse(std::to_string(json.size()) + " bytes; at most " +
                      std::to_string(limits.max_bytes) + " are allowed");
    if (json.empty())
        return refuse("empty; the least that is JSON is {}");
    if (const std::size_t at = base::find_invalid_utf8(json); at != std::string_view::npos)
        return refuse("not valid UTF-8" + at_byte(at));
    if (const std::size_t at = json.find('\0'); at != std::string_view::npos)
        return refuse("a NUL byte" + at_byte(at));
    DEADMAN_TRY_STATUS(check_depth(json, limits.max_depth));
    DEADMAN_TRY(const Document document, parse(json));
    return Walk().run(yyjson_doc_get_root(document.get()));
}

std::string clean_text(std::string_view text, std::size_t max_bytes) {
    std::string clean;
    clean.reserve(std::min(text.size(), max_bytes) + 4);
    // One character more than fits is enough to know that it must be cut.
    for (std::size_t at = 0; at < text.size() && clean.size() <= max_bytes;) {
        const base::Utf8Step step = base::utf8_step(text, at);
        const bool keep = step.valid && text[at] != '\0';
        clean += keep ? text.substr(at, step.length) : base::replacement_character;
        at += step.length;
    }
    if (clean.size() <= max_bytes)
        return clean;
    const std::string marker = " [cut from " + std::to_string(text.size()) + " bytes]";
    const bool room = marker.size() < max_bytes;
    std::string cut(head_of(clean, room ? max_bytes - marker.size() : max_bytes));
    return room ? cut + marker : cut;
}

} // namespace deadman::domain

#include "deadman/worker/handlers/sql_statement.h"

#include <algorithm>
#include <optional>

namespace deadman::worker {
namespace {

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::optional<SqlParameter> parameter_named(std::string_view name) {
    if (name == "payload")
        return SqlParameter::payload;
    if (name == "job_id")
        return SqlParameter::job_id;
    if (name == "fence")
        return SqlParameter::fence;
    if (name == "attempt")
        return SqlParameter::attempt;
    return std::nullopt;
}

class Compiler {
  public:
    Compiler(std::string_view text, SqlDialect dialect) : text_(text), dialect_(dialect) {}

    base::Result<SqlStatement> run() {
        while (at_ < text_.size())
            DEADMAN_TRY_STATUS(step());
        return std::move(compiled_);
    }

  private:
    base::Status step() {
        const std::string_view rest = text_.substr(at_);
        if (rest.front() == '\'' || rest.front() == '"')
            return copy_until(rest.substr(0, 1), 1, "quote");
        if (rest.starts_with("--"))
            return copy_line();
        if (rest.starts_with("/*"))
            return copy_until("*/", 2, "comment");
        if (rest.front() == '$' && dialect_ == SqlDialect::postgres)
            return copy_dollar_quoted();
        if (rest.starts_with("::"))
            return copy(2);
        if (rest.front() == ':' && rest.size() > 1 && is_name_character(rest[1]))
            return replace_name();
        return copy(1);
    }

    base::Status copy(std::size_t bytes) {
        compiled_.text += text_.substr(at_, bytes);
        at_ += bytes;
        return {};
    }

    // A doubled quote inside quoted text ends it and begins it again: the same in the end.
    base::Status copy_until(std::string_view closing, std::size_t opening_bytes, const char* what) {
        const std::size_t end = text_.find(closing, at_ + opening_bytes);
        if (end == std::string_view::npos)
            return base::fail(base::ErrorCode::invalid_argument,
                              std::string("the SQL statement has an unfinished ") + what);
        return copy(end + closing.size() - at_);
    }

    base::Status copy_line() {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        return copy(end - at_);
    }

    base::Status copy_dollar_quoted() {
        std::size_t end = at_ + 1;
        while (end < text_.size() && is_name_character(text_[end]))
            ++end;
        if (end == text_.size() || text_[end] != '$')
            return copy(1);
        const std::string_view tag = text_.substr(at_, end + 1 - at_);
        return copy_until(tag, tag.size(), "dollar quote");
    }

    base::Status replace_name() {
        std::size_t end = at_ + 1;
        while (end < text_.size() && is_name_character(text_[end]))
            ++end;
        const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
        const auto parameter = parameter_named(name);
        if (!parameter)
            return base::fail(base::ErrorCode::invalid_argument,
                              "the SQL statement names :" + std::string(name) +
                                  "; known are :payload, :job_id, :fence, :attempt");
        auto& known = compiled_.parameters;
        auto found = std::find(known.begin(), known.end(), *parameter);
        if (found == known.end())
            found = known.insert(known.end(), *parameter);
        compiled_.text += dialect_ == SqlDialect::postgres ? '$' : '?';
        compiled_.text += std::to_string(found - known.begin() + 1);
        at_ = end;
        return {};
    }

    std::string_view text_;
    SqlDialect dialect_;
    std::size_t at_ = 0;
    SqlStatement compiled_;
};

} // namespace

base::Result<SqlStatement> compile_statement(std::string_view text, SqlDialect dialect) {
    return Compiler(text, dialect).run();
}

} // namespace deadman::worker

#include "deadman/worker/handlers/sql_statement.h"

#include <algorithm>
#include <optional>

namespace deadman::worker {
namespace {

constexpr std::string_view known_names = ":payload, :job_id, :fence, :attempt";
constexpr std::string_view operator_characters = "+-*/<>=~!@#%^&|`?";

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

/// Of an identifier, a keyword or a number.
bool is_word_character(char c) {
    return is_name_character(c) || static_cast<unsigned char>(c) >= 0x80;
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
        const bool on_sqlite = dialect_ == SqlDialect::sqlite;
        if (is_word_character(rest.front()))
            return copy_word();
        if (rest.front() == '\'' || rest.front() == '"' || (on_sqlite && rest.front() == '`'))
            return copy_until(rest.substr(0, 1), 1, "quote");
        if (on_sqlite && rest.front() == '[')
            return copy_until("]", 1, "quote");
        if (rest.starts_with("--"))
            return copy_line();
        if (rest.starts_with("/*"))
            return copy_until("*/", 2, "comment");
        if (rest.front() == '$' && !on_sqlite && !is_digit(after(1)))
            return copy_dollar_quoted();
        if (rest.starts_with("::"))
            return copy(2);
        if (rest.front() == ':' && is_name_character(after(1)) &&
            (on_sqlite || !is_digit(after(1))))
            return replace_name();
        if (is_foreign_parameter())
            return refuse_parameter();
        return copy(1);
    }

    /// The character so far behind where we are; 0 behind the end.
    char after(std::size_t distance) const {
        return at_ + distance < text_.size() ? text_[at_ + distance] : '\0';
    }

    // Other ways to write a parameter. The driver would leave one of these empty (SQLite) or refuse
    // every run (Postgres), so whoever wrote it is told before the first job.
    bool is_foreign_parameter() const {
        switch (text_[at_]) {
        case '$':
            return is_word_character(after(1));
        case '?': // Postgres has operators that begin with it: ?, ?|, ?&, ?-
            return dialect_ == SqlDialect::sqlite || is_digit(after(1)) || ends_an_expression();
        case '@': // ... and that end with it: <@
            return is_name_character(after(1)) &&
                   (at_ == 0 || operator_characters.find(text_[at_ - 1]) == std::string::npos);
        default:
            return false;
        }
    }

    // An operator has something on its right side.
    bool ends_an_expression() const {
        const std::size_t next = text_.find_first_not_of(" \t\r\n", at_ + 1);
        return next == std::string_view::npos ||
               std::string_view(",);").find(text_[next]) != std::string_view::npos;
    }

    base::Status refuse_parameter() const {
        std::size_t end = at_ + 1;
        while (end < text_.size() && is_word_character(text_[end]))
            ++end;
        return base::fail(base::ErrorCode::invalid_argument,
                          "nothing is bound to the parameter " +
                              std::string(text_.substr(at_, end - at_)) +
                              " of the SQL statement; known are " + std::string(known_names));
    }

    // A word keeps its dollar signs; behind the word E a backslash escapes the quote.
    base::Status copy_word() {
        std::size_t end = at_;
        while (end < text_.size() && (is_word_character(text_[end]) || text_[end] == '$'))
            ++end;
        const std::string_view word = text_.substr(at_, end - at_);
        DEADMAN_TRY_STATUS(copy(word.size()));
        const bool escapes = dialect_ == SqlDialect::postgres && (word == "E" || word == "e");
        return escapes && after(0) == '\'' ? copy_escape_string() : base::Status{};
    }

    base::Status copy_escape_string() {
        std::size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != '\'')
            end += text_[end] == '\\' ? 2 : 1;
        if (end >= text_.size())
            return base::fail(base::ErrorCode::invalid_argument,
                              "the SQL statement has an unfinished quote");
        return copy(end + 1 - at_);
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
                              "the SQL statement names :" + std::string(name) + "; known are " +
                                  std::string(known_names));
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

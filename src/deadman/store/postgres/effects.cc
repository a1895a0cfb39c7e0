#include "deadman/store/postgres/internal/effects.h"

#include <system_error>
#include <utility>

#include "deadman/store/postgres/internal/failure.h"

namespace deadman::store::postgres {
namespace {

// Types by the numbers that every server has for them.
enum TypeId : unsigned {
    boolean = 16,
    int8 = 20,
    int2 = 21,
    int4 = 23,
    float4 = 700,
    float8 = 701
};

SqlValue read_value(const pqxx::field& field) {
    if (field.is_null())
        return std::monostate{};
    switch (field.type()) {
    case boolean:
        return std::int64_t{field.as<bool>() ? 1 : 0};
    case int2:
    case int4:
    case int8:
        return field.as<std::int64_t>();
    case float4:
    case float8:
        return field.as<double>();
    default:
        return std::string(field.view()); // numeric too: as exact as it came
    }
}

void append(pqxx::params& parameters, const SqlValue& value) {
    if (std::holds_alternative<std::monostate>(value))
        parameters.append();
    else if (const auto* integer = std::get_if<std::int64_t>(&value))
        parameters.append(*integer);
    else if (const auto* real = std::get_if<double>(&value))
        parameters.append(*real);
    else
        parameters.append(std::get<std::string>(value));
}

base::Error cancelled_error() {
    return base::make_error(base::ErrorCode::cancelled, "the run was stopped");
}

// For the server to act on a cancel; then the connection is cut, and the server finds out by
// itself.
constexpr base::Duration cancel_patience = std::chrono::seconds(2);

} // namespace

Effects::~Effects() {
    if (canceller_.joinable())
        canceller_.join();
}

base::Status Effects::run(const EffectBody& body) {
    DEADMAN_TRY_STATUS(body(*this));
    if (first_error_)
        return *first_error_;
    if (is_cancelled())
        return cancelled_error();
    return {};
}

void Effects::cancel() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(cancelled_, true) || !in_statement_)
        return;
    watched_.restart(cancel_patience);
    try {
        canceller_ = std::thread(cancel_statement_);
    } catch (const std::system_error&) {
        return; // no thread to be had: the connection is cut
    }
}

bool Effects::is_cancelled() {
    const std::lock_guard lock(mutex_);
    return cancelled_;
}

bool Effects::begin_statement() {
    const std::lock_guard lock(mutex_);
    if (cancelled_)
        return false;
    in_statement_ = true;
    watched_.restart(patience_);
    return true;
}

void Effects::end_statement() {
    const std::lock_guard lock(mutex_);
    in_statement_ = false;
    watched_.pause();
}

base::Result<std::vector<SqlRow>> Effects::execute(std::string_view sql,
                                                   std::span<const SqlValue> parameters) {
    if (first_error_)
        return *first_error_;
    if (!begin_statement()) {
        first_error_ = cancelled_error();
        return *first_error_;
    }
    try {
        pqxx::params bound;
        for (const SqlValue& value : parameters)
            append(bound, value);
        const pqxx::result rows = work_.exec(sql, bound);
        end_statement();
        std::vector<SqlRow> answer;
        for (const auto& row : rows) {
            SqlRow values;
            for (const auto& field : row)
                values.push_back(read_value(field));
            answer.push_back(std::move(values));
        }
        return answer;
    } catch (const std::exception& exception) {
        end_statement();
        first_error_ = is_cancelled() ? cancelled_error() : translate_effect_failure(exception);
        return *first_error_;
    }
}

} // namespace deadman::store::postgres

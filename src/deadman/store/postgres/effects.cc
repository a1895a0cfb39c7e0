#include "deadman/store/postgres/internal/effects.h"

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

} // namespace

base::Result<std::vector<SqlRow>> Effects::execute(std::string_view sql,
                                                   std::span<const SqlValue> parameters) {
    if (first_error_)
        return *first_error_;
    try {
        pqxx::params bound;
        for (const SqlValue& value : parameters)
            append(bound, value);
        watched_.restart(patience_);
        const pqxx::result rows = work_.exec(sql, bound);
        watched_.pause();
        std::vector<SqlRow> answer;
        for (const auto& row : rows) {
            SqlRow values;
            for (const auto& field : row)
                values.push_back(read_value(field));
            answer.push_back(std::move(values));
        }
        return answer;
    } catch (const std::exception& exception) {
        first_error_ = translate_effect_failure(exception);
        return *first_error_;
    }
}

} // namespace deadman::store::postgres

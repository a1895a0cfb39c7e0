#pragma once
// EffectTransaction: the transaction in which a handler writes its effect, with the end of its run.
//
// Thread-safety: for the one thread that was handed it, inside the one call; but for cancel().
// Blocking:      each statement waits for the database. SQLite: it holds the file's only write
// lock, so
//                do the work first and open it only to write (bound: the store's options, default 1
//                s).

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "deadman/base/result.h"

namespace deadman::store {

/// A bound parameter or a column: null, integer, real, text.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string>;
using SqlRow = std::vector<SqlValue>;

class EffectTransaction {
  public:
    virtual ~EffectTransaction() = default;

    /// One statement, parameters as ?1, ?2 (SQLite) or $1, $2 (Postgres). Never build SQL out of
    /// payloads. An error leaves the transaction unusable: return it.
    /// The in-memory store only records statements, to be seen once committed.
    virtual base::Result<std::vector<SqlRow>> execute(std::string_view sql,
                                                      std::span<const SqlValue> parameters) = 0;

    base::Result<std::vector<SqlRow>> execute(std::string_view sql,
                                              std::initializer_list<SqlValue> parameters = {}) {
        return execute(sql, std::span<const SqlValue>(parameters.begin(), parameters.size()));
    }

    /// From any thread while the body runs: the statement under way and all later ones fail with
    /// `cancelled`, and nothing is committed. Does not wait for that. A store whose statements end
    /// by themselves may do without.
    virtual void cancel() {}
};

using EffectBody = std::function<base::Status(EffectTransaction&)>;

} // namespace deadman::store

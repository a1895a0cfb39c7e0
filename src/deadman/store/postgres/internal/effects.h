#pragma once
// Effects: the transaction that transact() hands to a handler, over an open transaction of the
// driver.

#include <optional>

#include <pqxx/pqxx>

#include "deadman/store/effect_transaction.h"

namespace deadman::store::postgres {

class Effects final : public EffectTransaction {
  public:
    using EffectTransaction::execute;

    explicit Effects(pqxx::transaction_base& work) : work_(work) {}

    base::Result<std::vector<SqlRow>> execute(std::string_view sql,
                                              std::span<const SqlValue> parameters) override;

    /// Of the first statement that failed: nothing after it counts, whatever the handler says.
    const std::optional<base::Error>& first_error() const {
        return first_error_;
    }

  private:
    pqxx::transaction_base& work_;
    std::optional<base::Error> first_error_;
};

} // namespace deadman::store::postgres

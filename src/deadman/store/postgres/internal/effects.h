#pragma once
// Effects: the transaction that transact() hands to a handler, over an open transaction of the
// driver.

#include <optional>

#include <pqxx/pqxx>

#include "deadman/store/effect_transaction.h"
#include "deadman/store/postgres/internal/call_watch.h"

namespace deadman::store::postgres {

class Effects final : public EffectTransaction {
  public:
    using EffectTransaction::execute;

    Effects(pqxx::transaction_base& work, CallWatch::Guard& watched, base::Duration patience)
        : work_(work), watched_(watched), patience_(patience) {}

    base::Result<std::vector<SqlRow>> execute(std::string_view sql,
                                              std::span<const SqlValue> parameters) override;

    /// Of the first statement that failed: nothing after it counts, whatever the handler says.
    const std::optional<base::Error>& first_error() const {
        return first_error_;
    }

  private:
    pqxx::transaction_base& work_;
    CallWatch::Guard& watched_; // runs during statements alone: handlers take their time
    const base::Duration patience_;
    std::optional<base::Error> first_error_;
};

} // namespace deadman::store::postgres

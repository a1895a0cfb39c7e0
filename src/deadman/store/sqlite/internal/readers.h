#pragma once
// Readers: connections that only read, handed out one per operation.
//
// Contract:      what one operation reads is one snapshot.
// Thread-safety: safe for concurrent use; as many connections as there are readers at once.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/store/sqlite/internal/database.h"
#include "deadman/store/sqlite/internal/file_watch.h"

namespace deadman::store::sqlite {

class Readers {
  public:
    Readers(ConnectionOptions options, FileWatch& watch);

    template <typename T>
    base::Result<T> read(const std::function<base::Result<T>(Connection&)>& operation) {
        DEADMAN_TRY(auto connection, take());
        std::optional<base::Result<T>> answer;
        try {
            connection->run("BEGIN");
            answer.emplace(operation(*connection));
            connection->run("COMMIT");
        } catch (const SqliteFailure& failure) {
            answer.emplace(translate_sqlite(failure, Moment::statement));
        }
        give_back(std::move(connection));
        return std::move(*answer);
    }

  private:
    base::Result<std::unique_ptr<Connection>> take();
    void give_back(std::unique_ptr<Connection> connection);

    const ConnectionOptions options_;
    FileWatch& watch_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Connection>> idle_; // guarded by mutex_
};

} // namespace deadman::store::sqlite

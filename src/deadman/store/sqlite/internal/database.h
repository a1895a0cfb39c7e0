#pragma once
// A thin layer over SQLite's C API: connections, cached statements, transactions.
//
// Contract:      failures of SQLite are thrown as SqliteFailure and caught where a whole operation
// ends
//                (writer, readers, effects), which is where translate_sqlite turns them into
//                errors.
// Thread-safety: one thread at a time per connection.
// Blocking:      a busy database is waited for, up to ConnectionOptions::busy_patience.

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "deadman/base/result.h"
#include "deadman/base/time.h"
#include "deadman/store/effect_transaction.h"

struct sqlite3;
struct sqlite3_stmt;

namespace deadman::store::sqlite {

struct SqliteFailure {
    int code = 0; // SQLite's extended result code
    std::string message;
};

bool is_disk_full(const SqliteFailure& failure);

/// When a failure struck: only a commit can leave it open whether it happened.
enum class Moment { statement, commit };

/// The one place where SQLite's codes become ours.
base::Error translate_sqlite(const SqliteFailure& failure, Moment moment);

class Connection;

/// A statement that its connection keeps between two uses.
struct KeptStatement {
    sqlite3_stmt* statement = nullptr;
    bool is_lent = false;
};

/// A statement under way. Gives the statement back to its connection's cache when it goes.
class Cursor {
  public:
    Cursor(Cursor&& other) noexcept;
    Cursor& operator=(Cursor&&) = delete;
    Cursor(const Cursor&) = delete;
    ~Cursor();

    /// False: no more rows.
    bool next();

    int columns() const;

    /// The highest number of a parameter.
    int parameters() const;
    bool is_null(int column) const;
    std::int64_t integer(int column) const;
    int small(int column) const;
    bool flag(int column) const;
    double real(int column) const;
    std::string text(int column) const;
    SqlValue value(int column) const;

    std::optional<std::int64_t> optional_integer(int column) const;

    void bind(int index, std::int64_t value);
    void bind_real(int index, double value);
    void bind_text(int index, std::string_view value);
    void bind_null(int index);
    void bind_value(int index, const SqlValue& value);

  private:
    friend class Connection;
    Cursor(Connection& connection, sqlite3_stmt* statement, KeptStatement* kept);

    Connection* connection_;
    sqlite3_stmt* statement_;
    KeptStatement* kept_;        // null: to be finalized
    bool borrows_texts_ = false; // texts that are bound outlive the cursor
};

struct ConnectionOptions {
    std::string path;
    bool durable = true;
    bool read_only = false;
    bool may_create = false;
    base::Duration busy_patience = std::chrono::seconds(10);
    std::int64_t log_bytes_at_rest = 16 << 20; // a longer log is cut when it starts anew
    /// Told the length of the log, in pages, after each commit.
    std::function<void(int)> on_commit;
};

class Connection {
  public:
    static base::Result<std::unique_ptr<Connection>> open(ConnectionOptions options);

    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// `sql` must live for ever (a literal): its address is the key under which the statement is
    /// kept.
    template <typename... Values> Cursor query(std::string_view sql, const Values&... values) {
        Cursor cursor = prepare(sql, true);
        int index = 0;
        (bind_one(cursor, ++index, values), ...);
        return cursor;
    }

    /// Runs a statement to its end; the number of rows it changed.
    template <typename... Values> int run(std::string_view sql, const Values&... values) {
        Cursor cursor = prepare(sql, true);
        cursor.borrows_texts_ = true;
        int index = 0;
        (bind_one(cursor, ++index, values), ...);
        while (cursor.next()) {
        }
        return changes();
    }

    /// For SQL that is built, or comes from outside. REQUIRES: one statement.
    Cursor prepare(std::string_view sql, bool cached);

    int changes() const;
    bool in_transaction() const;

    /// Rolls back what is open; does not fail.
    void roll_back() noexcept;

    /// While set, statements may neither end the transaction nor touch the store's own tables.
    void restrict_statements(bool restricted) {
        is_restricted_ = restricted;
    }

    /// Asked now and then while a statement runs; true aborts it.
    void set_interrupt(std::function<bool()> should_stop);

    /// Whether closing this connection, as the last one anywhere, copies the log back into the
    /// file and removes it. SQLite does that while it keeps everybody else out.
    void set_checkpoint_at_close(bool wanted);

    /// Another patience than the options' from now on.
    void set_busy_patience(base::Duration patience);

    sqlite3* handle() const {
        return handle_;
    }

  private:
    friend class Cursor;
    explicit Connection(ConnectionOptions options);

    void configure();
    Cursor lend(KeptStatement& kept);
    static void give_back(KeptStatement& kept);
    [[noreturn]] void raise(int code) const;

    static void bind_one(Cursor& cursor, int index, std::string_view value) {
        cursor.bind_text(index, value);
    }

    template <std::integral Integer>
    static void bind_one(Cursor& cursor, int index, Integer value) {
        cursor.bind(index, static_cast<std::int64_t>(value));
    }

    template <std::floating_point Real>
    static void bind_one(Cursor& cursor, int index, Real value) {
        cursor.bind_real(index, value);
    }

    template <typename Value>
    static void bind_one(Cursor& cursor, int index, const std::optional<Value>& value) {
        if (value)
            bind_one(cursor, index, *value);
        else
            cursor.bind_null(index);
    }

    ConnectionOptions options_;
    sqlite3* handle_ = nullptr;
    int busy_budget_ms_ = 0;
    bool is_restricted_ = false;
    std::function<bool()> should_stop_;
    std::unordered_map<const char*, KeptStatement> kept_;
};

/// BEGIN IMMEDIATE ... COMMIT; rolled back unless committed.
class WriteTransaction {
  public:
    explicit WriteTransaction(Connection& connection);
    ~WriteTransaction();
    WriteTransaction(const WriteTransaction&) = delete;
    WriteTransaction& operator=(const WriteTransaction&) = delete;

    void commit();

  private:
    Connection& connection_;
};

} // namespace deadman::store::sqlite

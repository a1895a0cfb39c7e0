#pragma once
// PostgresWire: one bare connection for directed interleavings: a statement can be sent and left
// waiting.
//
// Whether it waits is asked of the server (it says that the statement waits for a lock), never
// guessed by a sleep.
//
// Thread-safety: one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct pg_conn;

namespace deadman::test {

using WireRows = std::vector<std::vector<std::string>>; // null: empty

class WireFailure : public std::runtime_error {
  public:
    WireFailure(std::string sqlstate, const std::string& message)
        : std::runtime_error(sqlstate + ": " + message), sqlstate_(std::move(sqlstate)) {}

    const std::string& sqlstate() const {
        return sqlstate_;
    }

  private:
    std::string sqlstate_;
};

class PostgresWire {
  public:
    explicit PostgresWire(const std::string& url);
    ~PostgresWire();

    PostgresWire(const PostgresWire&) = delete;
    PostgresWire& operator=(const PostgresWire&) = delete;

    /// The rows of the last statement. Throws WireFailure.
    WireRows run(const std::string& sql);

    /// The first value.
    std::string one(const std::string& sql);
    std::int64_t number(const std::string& sql);

    /// Empty where it went well.
    std::string sqlstate_of(const std::string& sql);

    void send(const std::string& sql);

    /// Waits until the statement sent waits for a lock (true) or has ended (false).
    bool blocks();

    /// The rows of the statement sent. Throws WireFailure.
    WireRows finish();
    std::string sqlstate_of_finish();

    /// How many notifications have come in since the last call.
    int take_notifications();

    /// Goes away without a word, as a killed process does.
    void cut();

    int pid() const {
        return pid_;
    }

  private:
    WireRows collect();

    std::string url_;
    std::unique_ptr<PostgresWire> control_; // asks what this one waits for
    pg_conn* connection_ = nullptr;
    int pid_ = 0;
};

/// Asks again until it holds or ten seconds have passed.
bool eventually(const std::function<bool()>& holds);

} // namespace deadman::test

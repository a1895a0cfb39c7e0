#pragma once
// Farewell: whoever leaves a file as the last one of all processes leaves all of it in the one
// file, without a log beside it.
//
// Contract:      SQLite copies the log back when the last connection closes, under a lock that
//                keeps everybody else out, so that no commit can run beside it (see
//                checkpoints.h); it does nothing while anybody else has the file open. A log that
//                is too long for a process that is on its way out stays for the next one, and so
//                does that of a file that was moved.
// Blocking:      the destructor waits for the disk, for `longest_log` at most.
// Ownership:     to be destroyed after all other connections of the store.

#include <cstdint>
#include <memory>
#include <string>

#include "deadman/store/sqlite/internal/database.h"
#include "deadman/store/sqlite/internal/file_watch.h"

namespace deadman::store::sqlite {

class Farewell {
  public:
    static constexpr std::uint64_t longest_log = 256 << 20;

    /// `connection` has read. `path` is the database's real one.
    Farewell(std::unique_ptr<Connection> connection, std::string path, FileWatch& watch,
             std::uint64_t most_bytes = longest_log);
    ~Farewell();
    Farewell(const Farewell&) = delete;
    Farewell& operator=(const Farewell&) = delete;

  private:
    std::unique_ptr<Connection> connection_;
    std::string path_;
    FileWatch& watch_;
    std::uint64_t most_bytes_;
};

} // namespace deadman::store::sqlite

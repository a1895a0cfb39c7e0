#pragma once
// Real processes over one SQLite store: children made by fork, which open the store themselves;
// what they were told is kept in memory shared with the parent, which judges once they are gone.

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadman/platform/paths.h"
#include "deadman/store/sqlite/sqlite_job_store.h"

namespace deadman::integration {

inline constexpr std::int64_t most_jobs = 2'000'000;

/// What the children of one test were told.
struct Ledger {
    std::atomic<bool> is_over{false};
    std::atomic<int> errors{0};
    char first_error[300] = {};
    std::atomic<std::int64_t> acknowledged{0};
    std::atomic<std::int64_t> ended{0};
    std::atomic<std::int64_t> listed{0};
    std::atomic<unsigned char> is_acknowledged[most_jobs] = {};
    std::atomic<unsigned char> ends[most_jobs] = {};

    void fail(const char* what, const base::Error& error) {
        if (errors++ == 0)
            std::snprintf(first_error, sizeof first_error, "%s: %s: %s", what,
                          std::string(base::error_code_name(error.code)).c_str(),
                          error.message.c_str());
    }
};

/// Shared by the processes that are forked while it lives.
class SharedLedger {
  public:
    SharedLedger()
        : memory_(mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
          ledger_(new(memory_) Ledger) {}

    ~SharedLedger() {
        munmap(memory_, sizeof(Ledger));
    }

    SharedLedger(const SharedLedger&) = delete;
    SharedLedger& operator=(const SharedLedger&) = delete;

    Ledger* operator->() const {
        return ledger_;
    }

    Ledger& operator*() const {
        return *ledger_;
    }

  private:
    void* memory_;
    Ledger* ledger_;
};

/// A process that runs `work` and can say one thing to its parent.
class Child {
  public:
    using Work = std::function<void(const std::function<void()>& say_ready)>;

    explicit Child(const Work& work) {
        int ends[2];
        if (pipe(ends) != 0)
            return;
        pid_ = fork();
        if (pid_ == 0) {
            close(ends[0]);
            work([&] { static_cast<void>(!write(ends[1], "r", 1)); });
            _exit(0);
        }
        close(ends[1]);
        ready_ = ends[0];
    }

    ~Child() {
        if (pid_ > 0 && !has_ended_) {
            kill(pid_, SIGKILL);
            wait();
        }
        if (ready_ >= 0)
            close(ready_);
    }

    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    bool wait_ready() const {
        char byte = 0;
        return read(ready_, &byte, 1) == 1;
    }

    void send(int signal_number) const {
        kill(pid_, signal_number);
    }

    int wait() {
        int status = 0;
        waitpid(pid_, &status, 0);
        has_ended_ = true;
        return status;
    }

    int pid() const {
        return pid_;
    }

  private:
    int pid_ = -1;
    int ready_ = -1;
    bool has_ended_ = false;
};

inline domain::JobSpec spec() {
    domain::JobSpec job;
    job.kind = "work";
    job.payload = R"({"some":"text of an ordinary length, as a payload has it"})";
    return job;
}

class SqliteStoreTest : public testing::Test {
  protected:
    void SetUp() override {
        auto folder = platform::TemporaryDirectory::create("deadman-store-");
        ASSERT_TRUE(folder.has_value());
        folder_.emplace(std::move(*folder));
        options_.path = folder_->path() + "/deadman.db";
        const auto store = open();
        ASSERT_TRUE(store->migrate().has_value());
    }

    std::unique_ptr<store::JobStore> open() {
        auto store = store::SqliteJobStore::open(options_, clock_);
        if (!store) {
            std::fprintf(stderr, "open: %s\n", store.error().message.c_str());
            std::abort();
        }
        return std::move(*store);
    }

    std::string ask(const std::string& sql) {
        sqlite3* handle = nullptr;
        std::string answer;
        sqlite3_open(options_.path.c_str(), &handle);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
        const auto keep = [](void* into, int, char** texts, char**) {
            *static_cast<std::string*>(into) = texts[0] != nullptr ? texts[0] : "";
            return 0;
        };
        sqlite3_exec(handle, sql.c_str(), keep, &answer, nullptr);
        sqlite3_close(handle);
        return answer;
    }

    std::uintmax_t log_bytes() const {
        std::error_code error;
        const auto bytes = std::filesystem::file_size(options_.path + "-wal", error);
        return error ? 0 : bytes;
    }

    /// A sweep each time, until `done`.
    void sweep_until(store::JobStore& store, const store::UpkeepRequest& request,
                     const std::function<bool()>& done) {
        auto leader = store.try_lead();
        ASSERT_TRUE(leader && *leader);
        const auto deadline = clock_.steady_now() + std::chrono::seconds(30);
        while (!done() && clock_.steady_now() < deadline) {
            ASSERT_TRUE((*leader)->sweep(request).has_value());
            nap(request.terms.sweep);
        }
        EXPECT_TRUE(done());
    }

    void nap(base::Duration time) {
        std::mutex mutex;
        std::condition_variable never;
        std::unique_lock lock(mutex);
        clock_.wait_until(lock, never, clock_.steady_now() + time, [] { return false; });
    }

    base::SystemClock clock_;
    store::SqliteOptions options_;
    std::optional<platform::TemporaryDirectory> folder_;
};

} // namespace deadman::integration

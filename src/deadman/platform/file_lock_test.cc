#include "deadman/platform/file_lock.h"

#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace deadman::platform {
namespace {

class FileLockTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "deadman_lock_XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        path_ = folder_ + "/a.lock";
    }

    void TearDown() override {
        unlink(path_.c_str());
        rmdir(folder_.c_str());
    }

    bool is_free() const {
        auto lock = FileLock::try_acquire(path_);
        return lock.has_value() && lock->has_value();
    }

    std::string folder_;
    std::string path_;
};

/// A child that runs `prepare`, says so, and waits to be killed.
class HeldChild {
  public:
    template <typename Prepare> explicit HeldChild(Prepare prepare) {
        int ready[2];
        if (pipe(ready) != 0)
            return;
        pid_ = fork();
        if (pid_ == 0) {
            auto held = prepare();
            const char done = held ? 'y' : 'n';
            if (write(ready[1], &done, 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        char answer = 0;
        is_ready_ = read(ready[0], &answer, 1) == 1 && answer == 'y';
        close(ready[0]);
        close(ready[1]);
    }

    ~HeldChild() {
        end();
    }

    void end() {
        if (pid_ <= 0)
            return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

    bool is_ready() const {
        return is_ready_;
    }

    int pid() const {
        return pid_;
    }

  private:
    int pid_ = -1;
    bool is_ready_ = false;
};

TEST_F(FileLockTest, IsHeldByOneAtATimeWithinAProcess) {
    {
        auto first = FileLock::try_acquire(path_);
        ASSERT_TRUE(first.has_value());
        ASSERT_TRUE(first->has_value());
        EXPECT_FALSE(is_free());
    }
    EXPECT_TRUE(is_free());
}

TEST_F(FileLockTest, MovesWithTheObject) {
    auto first = FileLock::try_acquire(path_);
    ASSERT_TRUE(first && *first);
    std::optional<FileLock> moved(std::move(**first));
    first->reset();
    EXPECT_FALSE(is_free());
    moved.reset();
    EXPECT_TRUE(is_free());
}

TEST_F(FileLockTest, IsKeptByAStoppedProcessAndDroppedAtItsDeath) {
    HeldChild child([&] { return FileLock::try_acquire(path_).value(); });
    ASSERT_TRUE(child.is_ready());
    EXPECT_FALSE(is_free());
    kill(child.pid(), SIGSTOP);
    EXPECT_FALSE(is_free());
    child.end();
    EXPECT_TRUE(is_free());
}

TEST_F(FileLockTest, RemovesTheFileWhileHeld) {
    auto lock = FileLock::try_acquire(path_);
    ASSERT_TRUE(lock && *lock);
    (*lock)->remove_and_release();
    EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(FileLockTest, DoesNotRemoveAFileMadeAnew) {
    auto lock = FileLock::try_acquire(path_);
    ASSERT_TRUE(lock && *lock);
    unlink(path_.c_str());
    std::ofstream(path_) << "another";
    (*lock)->remove_and_release();
    EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(FileLockTest, SaysWhyItCannot) {
    auto lock = FileLock::try_acquire(folder_ + "/missing/a.lock");
    ASSERT_FALSE(lock.has_value());
    EXPECT_EQ(lock.error().code, base::ErrorCode::unavailable);
    EXPECT_NE(lock.error().message.find("a.lock"), std::string::npos);
}

TEST_F(FileLockTest, NamesTheProcessThatHoldsAByteLock) {
    std::ofstream(path_) << "bytes";
    HeldChild child([&] {
        const int descriptor = open(path_.c_str(), O_RDWR | O_CLOEXEC);
        struct flock range{};
        range.l_type = F_WRLCK;
        range.l_whence = SEEK_SET;
        range.l_start = 120;
        range.l_len = 1;
        return fcntl(descriptor, F_SETLK, &range) == 0;
    });
    ASSERT_TRUE(child.is_ready());
    EXPECT_EQ(byte_lock_holder(path_, 120), child.pid());
    EXPECT_EQ(byte_lock_holder(path_, 121), std::nullopt);
}

TEST_F(FileLockTest, KnowsALocalFileSystem) {
    EXPECT_FALSE(is_on_network_file_system(path_));
}

TEST(BootId, IsTheSameWhenAskedAgain) {
    EXPECT_FALSE(boot_id().empty());
    EXPECT_EQ(boot_id(), boot_id());
}

} // namespace
} // namespace deadman::platform

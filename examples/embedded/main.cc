// One process, one SQLite file, one handler, one job whose effect happens once.

#include <cstdio>

#include <deadman/deadman.h>

int main() {
    auto store = deadman::Store::open("sqlite:embedded.db");

    deadman::Worker worker(store);
    worker.handle("greet", [](deadman::Run& run) {
        run.transaction([&run](deadman::Transaction& transaction) {
            transaction.execute("create table if not exists greeting(job integer, payload text)");
            transaction.execute("insert into greeting values (?1, ?2)",
                                {run.job_id(), run.payload()});
        });
    });
    worker.start();

    const auto id = store.enqueue({.kind = "greet", .payload = R"({"name":"world"})"});
    const auto state = store.wait(id, std::chrono::seconds(30));
    const bool succeeded = state == deadman::JobState::succeeded;
    std::printf("job %lld %s\n", static_cast<long long>(id),
                succeeded ? "succeeded" : "did not succeed");
    return succeeded ? 0 : 1;
}

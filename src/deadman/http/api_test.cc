// Goal: what every route has in common, without sockets: ids of requests, faults of the store,
// answers that may have happened. Method: an Api over the in-memory store with one fault.

#include "deadman/http/api.h"

#include <gtest/gtest.h>

#include "deadman/store/memory/memory_job_store.h"
#include "deadman/telemetry/sinks.h"
#include "tests/support/faulty_job_store.h"

namespace deadman::http {
namespace {

using test_support::FaultyJobStore;
using test_support::StoreFault;
using test_support::StoreMethod;

class ApiTest : public testing::Test {
  protected:
    Response ask(const std::string& method, const std::string& path, const std::string& body = "",
                 std::map<std::string, std::string, std::less<>> headers = {}) {
        Request request{method, path.substr(0, path.find('?')), "", std::move(headers), body, ""};
        if (const auto mark = path.find('?'); mark != std::string::npos)
            request.query = path.substr(mark + 1);
        request.headers.emplace("host", "localhost");
        request.headers.emplace("content-type", "application/json");
        auto admitted = api_.admit(request);
        last_id_ = request.id;
        if (auto* response = std::get_if<Response>(&admitted))
            return std::move(*response);
        return api_.run(request, std::get<Match>(admitted));
    }

    static bool says(const Response& response, const std::string& text) {
        return response.body.find(text) != std::string::npos;
    }

    base::SystemClock clock_;
    store::MemoryJobStore memory_{clock_};
    FaultyJobStore store_{memory_, clock_};
    telemetry::MemorySink sink_;
    telemetry::Log log_{clock_, sink_};
    telemetry::Metrics metrics_;
    StoreWatch watch_{memory_, clock_};
    Api api_{{.version = "1.2.3", .guard = {}, .payload_limits = {}},
             {store_, clock_, metrics_, log_, watch_}};
    std::string last_id_;
};

TEST_F(ApiTest, TakesADecentRequestIdAndMakesOneElse) {
    ask("GET", "/livez", "", {{"x-request-id", "a-1.b_2"}});
    EXPECT_EQ(last_id_, "a-1.b_2");
    for (const std::string& id : {std::string("with space"), std::string("a\nb"),
                                  std::string(129, 'a'), std::string("\xff")}) {
        const Response response = ask("GET", "/livez", "", {{"x-request-id", id}});
        EXPECT_EQ(last_id_.size(), 16U);
        EXPECT_EQ(response.headers.front(),
                  (std::pair<std::string, std::string>("X-Request-Id", last_id_)));
    }
}

TEST_F(ApiTest, AStoreThatFailsIsA503ThatMayBeRepeated) {
    store_.arm({.kind = StoreFault::Kind::fail_before, .method = StoreMethod::enqueue});
    const Response failed = ask("POST", "/v1/jobs", R"({"kind":"a"})");
    EXPECT_EQ(failed.status, 503);
    EXPECT_TRUE(says(failed, R"("code":"unavailable")"));
    EXPECT_TRUE(std::any_of(failed.headers.begin(), failed.headers.end(),
                            [](const auto& header) { return header.first == "Retry-After"; }));
    EXPECT_EQ(ask("POST", "/v1/jobs", R"({"kind":"a"})").status, 201);
}

TEST_F(ApiTest, AnEnqueueThatMayHaveHappenedSaysSoAndItsKeyFindsIt) {
    const std::map<std::string, std::string, std::less<>> key{{"idempotency-key", "k"}};
    store_.arm({.kind = StoreFault::Kind::unknown_after, .method = StoreMethod::enqueue});
    const Response unknown = ask("POST", "/v1/jobs", R"({"kind":"a"})", key);
    EXPECT_EQ(unknown.status, 503);
    EXPECT_TRUE(says(unknown, R"("code":"outcome_unknown")"));
    const Response again = ask("POST", "/v1/jobs", R"({"kind":"a"})", key);
    EXPECT_EQ(again.status, 200);
    EXPECT_TRUE(says(again, R"("replayed":true)"));
    EXPECT_EQ(*memory_.count_outstanding(), 1);
}

TEST_F(ApiTest, EachFaultOfAQuestionIsAProblemAndNoMore) {
    for (const char* path : {"/v1/jobs", "/v1/jobs/1", "/v1/queues", "/v1/workers"}) {
        store_.arm({.kind = StoreFault::Kind::fail_before, .method = StoreMethod::question});
        const Response response = ask("GET", path);
        EXPECT_EQ(response.status, 503) << path;
        EXPECT_EQ(response.content_type, "application/problem+json");
    }
    EXPECT_EQ(sink_.count("http_request_failed"), 4U);
}

TEST_F(ApiTest, CountsByRouteAndNeverById) {
    ask("GET", "/v1/jobs/123456");
    ask("GET", "/v1/jobs/654321");
    ask("GET", "/no/such/path");
    const std::string metrics = ask("GET", "/metrics").body;
    EXPECT_NE(metrics.find(R"(deadman_http_requests_total{route="/v1/jobs/{id}",status="404"} 2)"),
              std::string::npos)
        << metrics;
    EXPECT_NE(metrics.find(R"(route="none",status="404")"), std::string::npos);
    EXPECT_EQ(metrics.find("123456"), std::string::npos);
}

TEST_F(ApiTest, PayloadsAndKeysNeverReachTheLog) {
    store_.arm({.kind = StoreFault::Kind::fail_before, .method = StoreMethod::enqueue});
    ask("POST", "/v1/jobs", R"({"kind":"a","payload":"s3cret"})", {{"idempotency-key", "k3y"}});
    ASSERT_EQ(sink_.count("http_request_failed"), 1U);
    for (const telemetry::Event& event : sink_.events()) {
        EXPECT_EQ(telemetry::format_json(event).find("s3cret"), std::string::npos);
        EXPECT_EQ(telemetry::format_json(event).find("k3y"), std::string::npos);
    }
}

TEST_F(ApiTest, ADrainIsSeenByReadyzAlone) {
    EXPECT_EQ(ask("GET", "/readyz").status, 200);
    api_.begin_drain();
    const Response response = ask("GET", "/readyz?verbose");
    EXPECT_EQ(response.status, 503);
    EXPECT_TRUE(says(response, "FAIL draining"));
    EXPECT_EQ(ask("GET", "/livez").status, 200);
    EXPECT_EQ(ask("POST", "/v1/jobs", R"({"kind":"a"})").status, 201);
}

} // namespace
} // namespace deadman::http

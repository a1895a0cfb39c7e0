// Goal: every way in which a server can misbehave ends within the bounds and in the right class
// (case C44). Method: a server of this test on a loopback port that answers by script.

#include "deadman/worker/handlers/http_handler.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "deadman/domain/payload.h"
#include "deadman/worker/handlers/internal/fake_run_context.h"

namespace deadman::worker {
namespace {

using namespace std::chrono_literals;
using domain::AnswerKind;
using internal::FakeRunContext;

/// Accepts one connection after another and hands each, with its request, to `serve`.
class ScriptedServer {
  public:
    using Serve =
        std::function<void(int socket, const std::string& request, const std::stop_token& stop)>;

    explicit ScriptedServer(Serve serve) : serve_(std::move(serve)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(listener_, 16), 0);
        socklen_t length = sizeof address;
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
        port_ = ntohs(address.sin_port);
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }

    ~ScriptedServer() {
        thread_.request_stop();
        thread_.join();
        ::close(listener_);
    }

    std::string url(const std::string& path = "/hook") const {
        return "http://127.0.0.1:" + std::to_string(port_) + path;
    }

    std::vector<std::string> requests() const {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

    static void send_text(int socket, std::string_view text) {
        while (!text.empty()) {
            const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0)
                return;
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    /// False once the peer has gone or the server stops; true after `patience`.
    static bool peer_stays(int socket, const std::stop_token& stop,
                           std::chrono::milliseconds patience) {
        for (auto waited = 0ms; waited < patience; waited += 20ms) {
            pollfd gone{socket, POLLRDHUP, 0};
            if (stop.stop_requested() || ::poll(&gone, 1, 20) > 0)
                return false;
        }
        return true;
    }

  private:
    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            pollfd ready{listener_, POLLIN, 0};
            if (::poll(&ready, 1, 20) <= 0)
                continue;
            const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            const std::string request = read_request(socket);
            {
                const std::lock_guard lock(mutex_);
                requests_.push_back(request);
            }
            serve_(socket, request, stop);
            ::close(socket);
        }
    }

    static std::string read_request(int socket) {
        std::string request;
        char buffer[4096];
        while (request.find("\r\n\r\n") == std::string::npos || !request.ends_with('}')) {
            const ssize_t got = ::recv(socket, buffer, sizeof buffer, 0);
            if (got <= 0)
                break;
            request.append(buffer, static_cast<std::size_t>(got));
        }
        return request;
    }

    Serve serve_;
    int listener_ = -1;
    int port_ = 0;
    mutable std::mutex mutex_;
    std::vector<std::string> requests_; // guarded by mutex_
    std::jthread thread_;
};

ScriptedServer::Serve always(std::string answer) {
    return [answer = std::move(answer)](int socket, const std::string&, const std::stop_token&) {
        ScriptedServer::send_text(socket, answer);
    };
}

std::string http_answer(const std::string& status, const std::string& body = "",
                        const std::string& headers = "") {
    return "HTTP/1.1 " + status + "\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
           body;
}

struct HttpHandler : testing::Test {
    base::SystemClock clock;
    FakeRunContext context{R"({"n":1})"};
    HttpOptions options;

    HttpHandler() {
        options.allow_private_addresses = true;
        options.timeout = 5s;
    }

    domain::Answer run(const std::string& url) {
        options.url = url;
        const auto started = clock.steady_now();
        auto answer = make_http_handler(options, clock)(context);
        EXPECT_LT(clock.steady_now() - started, options.timeout + 1s);
        return answer;
    }

    domain::Answer run(const ScriptedServer& server) {
        return run(server.url());
    }
};

TEST_F(HttpHandler, PostsThePayloadWithItsKeyFenceAndSignature) {
    options.secret = "0123456789abcdefghij";
    ScriptedServer server(always(http_answer("200 OK", "fine")));
    const auto answer = run(server);
    EXPECT_EQ(answer.kind, AnswerKind::succeeded);
    EXPECT_EQ(answer.result, R"({"status":200,"body":"fine","truncated":false})");
    const std::string request = server.requests().at(0);
    for (const char* part :
         {"POST /hook HTTP/1.1", "Content-Type: application/json",
          "Idempotency-Key: \"deadman-job-7\"", "Deadman-Fence: 42", "Deadman-Attempt: 3",
          "webhook-id: deadman-job-7", "webhook-signature: v1,", "\r\n\r\n{\"n\":1}"})
        EXPECT_NE(request.find(part), std::string::npos) << part << "\n" << request;
}

TEST_F(HttpHandler, ServerTroubleIsRetriedAndRefusalIsFinal) {
    for (const char* status : {"500 Oops", "503 Busy", "429 Slow", "409 Conflict", "408 Late"}) {
        ScriptedServer server(always(http_answer(status)));
        EXPECT_EQ(run(server).kind, AnswerKind::error) << status;
    }
    for (const char* status : {"400 Bad", "401 No", "404 Gone", "422 Bad"}) {
        ScriptedServer server(always(http_answer(status, "why")));
        EXPECT_EQ(run(server).kind, AnswerKind::failed) << status;
    }
}

TEST_F(HttpHandler, RetryAfterIsHonoured) {
    ScriptedServer server(always(http_answer("503 Busy", "", "Retry-After: 120\r\n")));
    EXPECT_EQ(run(server).delay, 120s);
}

TEST_F(HttpHandler, NobodyListeningIsRetried) {
    std::string url;
    {
        ScriptedServer server(always(""));
        url = server.url();
    }
    EXPECT_EQ(run(url).reason, "http_unreachable");
}

TEST_F(HttpHandler, SilenceEndsAtTheTimeout) {
    options.timeout = 500ms;
    ScriptedServer server([](int socket, const std::string&, const std::stop_token& stop) {
        ScriptedServer::peer_stays(socket, stop, 10s);
    });
    EXPECT_EQ(run(server).kind, AnswerKind::error);
}

TEST_F(HttpHandler, ADrippingAnswerEndsAtTheTimeout) {
    options.timeout = 700ms;
    ScriptedServer server([](int socket, const std::string&, const std::stop_token& stop) {
        ScriptedServer::send_text(socket, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        while (ScriptedServer::peer_stays(socket, stop, 100ms))
            ScriptedServer::send_text(socket, "x");
    });
    EXPECT_EQ(run(server).kind, AnswerKind::error);
}

TEST_F(HttpHandler, EndlessHeadersAreCutOff) {
    ScriptedServer server([](int socket, const std::string&, const std::stop_token& stop) {
        ScriptedServer::send_text(socket, "HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < 100'000 && !stop.stop_requested(); ++i)
            ScriptedServer::send_text(socket, "X-Filler: " + std::string(100, 'x') + "\r\n");
    });
    EXPECT_EQ(run(server).kind, AnswerKind::error);
}

TEST_F(HttpHandler, AHugeBodyIsCutOffAndItsHeadKept) {
    ScriptedServer server([](int socket, const std::string&, const std::stop_token& stop) {
        ScriptedServer::send_text(socket, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
        const std::string block(1 << 20, 'y');
        for (int i = 0; i < 1'000 && ScriptedServer::peer_stays(socket, stop, 0ms); ++i) {
            pollfd gone{socket, POLLRDHUP, 0};
            if (stop.stop_requested() || ::poll(&gone, 1, 0) > 0)
                return;
            ScriptedServer::send_text(socket, block);
        }
    });
    const auto answer = run(server);
    EXPECT_EQ(answer.kind, AnswerKind::succeeded);
    EXPECT_LE(answer.result.size(), options.max_output_bytes + 100);
    EXPECT_NE(answer.result.find(R"("truncated":true)"), std::string::npos);
}

TEST_F(HttpHandler, AnswersThatAreNotTextBecomeValidJson) {
    ScriptedServer server(always(http_answer("200 OK", std::string("\x00\xC3\x28\xFF", 4))));
    const auto answer = run(server);
    EXPECT_TRUE(domain::validate_payload(answer.result).has_value()) << answer.result;
}

TEST_F(HttpHandler, AResetMidBodyIsRetried) {
    ScriptedServer server([](int socket, const std::string&, const std::stop_token&) {
        ScriptedServer::send_text(socket, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
        const linger at_once{1, 0};
        ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    });
    EXPECT_EQ(run(server).kind, AnswerKind::error);
}

TEST_F(HttpHandler, FollowsA307WithThePostAndRefusesA302) {
    ScriptedServer server([](int socket, const std::string& request, const std::stop_token&) {
        const bool first = request.find("POST /hook ") != std::string::npos;
        ScriptedServer::send_text(socket, first
                                              ? http_answer("307 There", "", "Location: /next\r\n")
                                              : http_answer("200 OK"));
    });
    EXPECT_EQ(run(server).kind, AnswerKind::succeeded);
    EXPECT_NE(server.requests().at(1).find("POST /next"), std::string::npos);
    EXPECT_NE(server.requests().at(1).find("{\"n\":1}"), std::string::npos);
    ScriptedServer found(always(http_answer("302 Found", "", "Location: /next\r\n")));
    EXPECT_EQ(run(found).kind, AnswerKind::failed);
    EXPECT_EQ(found.requests().size(), 1U);
}

TEST_F(HttpHandler, RedirectsWithoutEndAreGivenUp) {
    ScriptedServer server(always(http_answer("308 Again", "", "Location: /hook\r\n")));
    EXPECT_EQ(run(server).reason, "http_redirect");
    EXPECT_EQ(server.requests().size(), 4U);
}

TEST_F(HttpHandler, PrivateAddressesAreRefusedUnlessAllowedWithoutAConnection) {
    options.allow_private_addresses = false;
    ScriptedServer server(always(http_answer("200 OK")));
    const auto answer = run(server);
    EXPECT_EQ(answer.kind, AnswerKind::failed);
    EXPECT_NE(answer.message.find("not public"), std::string::npos);
    EXPECT_EQ(run("http://localhost:1/").kind, AnswerKind::failed);
    EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpHandler, RefusesOtherSchemes) {
    EXPECT_EQ(run("file:///etc/passwd").kind, AnswerKind::failed);
    EXPECT_EQ(run("gopher://127.0.0.1/").kind, AnswerKind::failed);
}

TEST_F(HttpHandler, AStopRequestEndsIt) {
    options.timeout = 4s;
    context.stop.request_stop();
    ScriptedServer server([](int socket, const std::string&, const std::stop_token& stop) {
        ScriptedServer::peer_stays(socket, stop, 10s);
    });
    const auto started = clock.steady_now();
    EXPECT_EQ(run(server).reason, "stopped");
    EXPECT_LT(clock.steady_now() - started, 3s);
}

} // namespace
} // namespace deadman::worker

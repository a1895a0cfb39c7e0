// Goal: a web page of another site can drive nothing, and the token is asked for. Method: tables.

#include "deadman/http/request_guard.h"

#include <gtest/gtest.h>

namespace deadman::http {
namespace {

using Headers = std::map<std::string, std::string, std::less<>>;

int sender_status(const RequestGuard& guard, Headers headers) {
    Request request;
    request.headers = std::move(headers);
    const auto problem = guard.check_sender(request);
    return problem ? problem->status : 0;
}

int access_status(const RequestGuard& guard, Headers headers, const RouteAccess& access) {
    Request request;
    request.headers = std::move(headers);
    const auto problem = guard.check_access(request, access);
    return problem ? problem->status : 0;
}

const RequestGuard plain({.hosts = {"jobs.example", "10.0.0.7"}});
const RequestGuard everywhere({.any_address = true, .token = "0123456789abcdef"});
const RouteAccess reading{};
const RouteAccess writing{.changes_state = true, .has_body = true};
const RouteAccess deleting{.changes_state = true};

TEST(RequestGuard, AnswersForItsOwnHostsOnly) {
    for (const char* host : {"localhost", "localhost:1", "127.0.0.1:7350", "[::1]", "[::1]:7350",
                             "::1", "JOBS.example", "jobs.example.", "jobs.example:80", "10.0.0.7"})
        EXPECT_EQ(sender_status(plain, {{"host", host}}), 0) << host;
    for (const char* host : {"evil.example", "jobs.example.evil", "x.jobs.example", "10.0.0.8",
                             "[::2]", "[", "]", ":", ".", "localhost:1:2", "127.0.0.1@evil"})
        EXPECT_EQ(sender_status(plain, {{"host", host}}), 421) << host;
    EXPECT_EQ(sender_status(plain, {}), 400);
}

TEST(RequestGuard, ListeningEverywhereItAnswersToAnyAddressAndNoName) {
    for (const char* host : {"10.0.0.8:80", "[2001:db8::1]:80", "localhost"})
        EXPECT_EQ(sender_status(everywhere, {{"host", host}}), 0) << host;
    for (const char* host : {"rebound.example", "10.0.0.8.evil", "0x7f.1"})
        EXPECT_EQ(sender_status(everywhere, {{"host", host}}), 421) << host;
}

TEST(RequestGuard, RefusesOtherOrigins) {
    EXPECT_EQ(sender_status(plain, {{"host", "localhost:1"}, {"origin", "http://localhost:1"}}), 0);
    EXPECT_EQ(sender_status(plain, {{"host", "jobs.example"}, {"origin", "https://JOBS.example"}}),
              0);
    for (const char* origin : {"null", "http://localhost:2", "http://localhost",
                               "https://evil.example", "localhost:1", "http://"})
        EXPECT_EQ(sender_status(plain, {{"host", "localhost:1"}, {"origin", origin}}), 403)
            << origin;
}

TEST(RequestGuard, RefusesWhatAFormCanSend) {
    EXPECT_EQ(access_status(plain, {{"content-type", "application/json"}}, writing), 0);
    EXPECT_EQ(access_status(plain, {{"content-type", "Application/JSON ; charset=utf-8"}}, writing),
              0);
    EXPECT_EQ(access_status(plain, {}, writing), 415);
    EXPECT_EQ(access_status(plain, {{"content-type", "text/plain"}}, writing), 415);
    EXPECT_EQ(access_status(plain, {{"content-type", "text/plain;application/json"}}, writing),
              415);
    EXPECT_EQ(access_status(plain, {}, deleting), 0);
    EXPECT_EQ(access_status(plain, {{"content-type", "text/plain"}}, deleting), 415);
    EXPECT_EQ(access_status(plain, {{"content-type", "text/plain"}}, reading), 0);
    EXPECT_EQ(access_status(plain, {{"sec-fetch-site", "cross-site"}}, deleting), 403);
    EXPECT_EQ(access_status(plain, {{"sec-fetch-site", "cross-site"}}, reading), 0);
}

TEST(RequestGuard, AsksForTheToken) {
    EXPECT_EQ(access_status(everywhere, {{"authorization", "Bearer 0123456789abcdef"}}, reading),
              0);
    EXPECT_EQ(access_status(everywhere, {{"authorization", "bearer  0123456789abcdef "}}, reading),
              0);
    for (const char* given :
         {"", "0123456789abcdef", "Bearer", "Bearer ", "Bearer 0123456789abcde",
          "Bearer 0123456789abcdeF", "Bearer 0123456789abcdef0", "Basic 0123456789abcdef"})
        EXPECT_EQ(access_status(everywhere, {{"authorization", given}}, reading), 401) << given;
    EXPECT_EQ(access_status(everywhere, {}, {.needs_token = false}), 0);
}

} // namespace
} // namespace deadman::http

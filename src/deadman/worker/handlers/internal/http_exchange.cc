#include "deadman/worker/handlers/internal/http_exchange.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "deadman/domain/job.h"
#include "deadman/domain/payload.h"
#include "deadman/platform/address_policy.h"
#include "deadman/worker/handlers/internal/json_text.h"

namespace deadman::worker::internal {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr std::size_t longest_body_read = 4 << 20;
constexpr base::Duration longest_retry_after = 24h;

struct CurlCloser {
    void operator()(CURL* curl) const {
        curl_easy_cleanup(curl);
    }
};

struct ListFreer {
    void operator()(curl_slist* list) const {
        curl_slist_free_all(list);
    }
};

struct Transfer {
    const HttpRequest& request;
    HttpAnswer answer;
    std::size_t body_bytes = 0;
    bool address_refused = false;
    bool cut_off = false;
};

std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* user) {
    auto& transfer = *static_cast<Transfer*>(user);
    const std::size_t length = size * count;
    transfer.body_bytes += length;
    std::string& body = transfer.answer.body;
    const std::size_t room = transfer.request.max_body_bytes - body.size();
    body.append(bytes, std::min(room, length));
    transfer.answer.truncated = transfer.body_bytes > transfer.request.max_body_bytes;
    transfer.cut_off = transfer.body_bytes > longest_body_read;
    return transfer.cut_off ? 0 : length; // anything but the length ends the transfer
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Transfer*>(user)->request.stop.stop_requested() ? 1 : 0;
}

// Asked before every connection, so for every hop and every address that a name resolves to.
curl_socket_t on_open(void* user, curlsocktype, curl_sockaddr* address) {
    auto& transfer = *static_cast<Transfer*>(user);
    if (!transfer.request.allow_private_addresses &&
        !platform::is_public_address(&address->addr, address->addrlen)) {
        transfer.address_refused = true;
        return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype, address->protocol);
}

long to_milliseconds(base::Duration duration) {
    return std::max<long>(
        1, static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(duration).count()));
}

void configure(CURL* curl, Transfer& transfer, curl_slist* headers) {
    const HttpRequest& request = transfer.request;
    curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, ""); // one would resolve and connect past our policy
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, to_milliseconds(request.timeout));
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, to_milliseconds(request.connect_timeout));
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, &on_open);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
}

base::Error explain(CURLcode code, const Transfer& transfer, const char* detail) {
    if (transfer.address_refused)
        return base::fail(ErrorCode::invalid_argument,
                          "the URL leads to an address that is not public; "
                          "allow_private_addresses would permit it");
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return base::fail(ErrorCode::cancelled, "stopped");
    if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
        return base::fail(ErrorCode::invalid_argument, curl_easy_strerror(code));
    return base::fail(ErrorCode::unavailable, *detail != 0 ? detail : curl_easy_strerror(code));
}

void read_answer(CURL* curl, HttpAnswer& answer) {
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
    const char* redirect = nullptr;
    curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &redirect);
    if (redirect != nullptr)
        answer.redirect_to = redirect;
    curl_off_t seconds = 0;
    if (curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0) {
        const auto longest = std::chrono::duration_cast<std::chrono::seconds>(longest_retry_after);
        answer.retry_after = std::chrono::seconds(std::min<std::int64_t>(seconds, longest.count()));
    }
}

void initialise_curl_once() {
    static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
    (void)initialised;
}

bool is_worth_a_retry(int status) {
    return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

} // namespace

base::Result<HttpAnswer> post(const HttpRequest& request) {
    initialise_curl_once();
    const std::unique_ptr<CURL, CurlCloser> curl(curl_easy_init());
    if (!curl)
        return base::fail(ErrorCode::exhausted, "libcurl gives no handle");
    std::unique_ptr<curl_slist, ListFreer> headers;
    for (const std::string& header : request.headers)
        headers.reset(curl_slist_append(headers.release(), header.c_str()));
    Transfer transfer{.request = request};
    char detail[CURL_ERROR_SIZE] = {};
    configure(curl.get(), transfer, headers.get());
    curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail);
    const CURLcode code = curl_easy_perform(curl.get());
    // Cut off by us: the head of the answer is all there, and that is what counts.
    if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && transfer.cut_off))
        return explain(code, transfer, detail);
    read_answer(curl.get(), transfer.answer);
    return std::move(transfer.answer);
}

domain::Answer answer_of(const HttpAnswer& http) {
    domain::Answer answer;
    if (http.status >= 200 && http.status < 300) {
        answer.result = output_json("\"status\":" + std::to_string(http.status),
                                    {{"body", http.body}}, http.truncated);
        return answer;
    }
    answer.kind =
        is_worth_a_retry(http.status) ? domain::AnswerKind::error : domain::AnswerKind::failed;
    answer.reason = "http_status";
    answer.message = domain::clean_text("HTTP " + std::to_string(http.status) + ": " + http.body,
                                        domain::largest_message_bytes);
    if (answer.kind == domain::AnswerKind::error && http.retry_after)
        answer.delay = *http.retry_after;
    return answer;
}

} // namespace deadman::worker::internal

#include "deadman/client/internal/transport.h"

#include <mutex>

#include <curl/curl.h>

namespace deadman::client {
namespace {

using base::ErrorCode;

constexpr std::size_t longest_reply = 1U << 30U;

void initialize_library() {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* reply) {
    std::string& body = static_cast<Reply*>(reply)->body;
    if (body.size() + size * count > longest_reply)
        return 0; // libcurl gives up
    body.append(data, size * count);
    return size * count;
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* reply) {
    constexpr std::string_view wanted = "x-request-id:";
    std::string line(data, size * count);
    for (char& c : line)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (line.starts_with(wanted)) {
        const std::size_t begin = line.find_first_not_of(" \t", wanted.size());
        const std::size_t end = line.find_last_not_of(" \t\r\n");
        if (begin != std::string::npos && end != std::string::npos && begin <= end)
            static_cast<Reply*>(reply)->request_id = line.substr(begin, end - begin + 1);
    }
    return size * count;
}

/// The request cannot have reached anybody.
bool never_sent(CURLcode code) {
    return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_SSL_CONNECT_ERROR ||
           code == CURLE_PEER_FAILED_VERIFICATION;
}

long millis(base::Duration duration) {
    return static_cast<long>(
        std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

} // namespace

struct Transport::Handles {
    CURL* easy = nullptr;
    curl_slist* headers = nullptr;

    void add_header(const std::string& line) {
        if (curl_slist* longer = curl_slist_append(headers, line.c_str()))
            headers = longer;
    }

    Handles() = default;
    Handles(const Handles&) = delete;
    Handles& operator=(const Handles&) = delete;

    ~Handles() {
        curl_slist_free_all(headers);
        curl_easy_cleanup(easy);
    }
};

Transport::Transport(std::string url, std::unique_ptr<Handles> handles)
    : url_(std::move(url)), handles_(std::move(handles)) {}

Transport::~Transport() = default;

base::Result<std::unique_ptr<Transport>> Transport::create(const ClientOptions& options) {
    std::string url = options.url;
    while (url.ends_with('/'))
        url.pop_back();
    if (!url.starts_with("http://") && !url.starts_with("https://"))
        return base::fail(ErrorCode::invalid_argument,
                          "'" + options.url + "' is not the URL of a server: http://HOST:PORT");
    initialize_library();
    auto handles = std::make_unique<Handles>();
    handles->easy = curl_easy_init();
    if (handles->easy == nullptr)
        return base::fail(ErrorCode::exhausted, "libcurl cannot be set up");
    handles->add_header("Content-Type: application/json");
    handles->add_header("Accept: application/json, application/problem+json");
    handles->add_header("Expect:"); // no round trip before a large body
    if (!options.token.empty())
        handles->add_header("Authorization: Bearer " + options.token);
    CURL* easy = handles->easy;
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, handles->headers);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, millis(options.connect_timeout));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, millis(options.timeout));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take_body);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &take_header);
    return std::unique_ptr<Transport>(new Transport(std::move(url), std::move(handles)));
}

base::Result<Reply> Transport::exchange(const Call& call, bool& unreachable) {
    CURL* easy = handles_->easy;
    Reply reply;
    char reason[CURL_ERROR_SIZE]{};
    const std::string url = url_ + call.path;
    const bool is_question = call.method == "GET";
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    if (is_question) {
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, nullptr);
    } else {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                         static_cast<curl_off_t>(call.body.size()));
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call.body.c_str());
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call.method.c_str());
    }
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &reply);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &reply);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason);
    const CURLcode code = curl_easy_perform(easy);
    unreachable = never_sent(code);
    if (code == CURLE_OK) {
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        reply.status = static_cast<int>(status);
        return reply;
    }
    if (code == CURLE_URL_MALFORMAT)
        return base::fail(ErrorCode::invalid_argument, "'" + url_ + "' is not a URL");
    const std::string why = reason[0] != '\0' ? reason : curl_easy_strerror(code);
    if (unreachable || is_question)
        return base::fail(ErrorCode::unavailable, url_ + ": " + why);
    return base::fail(ErrorCode::outcome_unknown,
                      url_ + ": " + why + "; it may have been done: look before you repeat it");
}

std::string percent_encoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    constexpr std::string_view plain = "-._~";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || plain.find(c) != std::string_view::npos;
        if (is_plain) {
            out += c;
            continue;
        }
        out += '%';
        out += digits[byte >> 4U];
        out += digits[byte & 15U];
    }
    return out;
}

} // namespace deadman::client

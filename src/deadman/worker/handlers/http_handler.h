#pragma once
// The http handler: one signed POST per run to a URL that the operator declared.
//
// Contract:      the body is the payload, application/json. Headers: Idempotency-Key and webhook-id
//                (the same for every run of a job), webhook-timestamp, webhook-signature (Standard
//                Webhooks, where there is a secret), Deadman-Job-Id, Deadman-Kind, Deadman-Attempt,
//                Deadman-Fence, Deadman-Run-Key, Deadman-Deadline. 2xx: done, the body is kept with
//                the result. 408, 409, 425, 429, 5xx and every failure to get an answer: to be
//                retried, not before Retry-After. Other answers: failed for good. The effect behind
//                the URL may happen more than once: the key prevents it there.
// Safety:        addresses that are not public are refused unless allowed, for every hop. 307 and
// 308
//                are followed, a few times, never from https to http; other redirects would turn
//                the POST into a GET and are refused. No proxy of the environment is used.
// Thread-safety: the handler may run many times at once.
// Source:        case C44.

#include <string>

#include "deadman/base/clock.h"
#include "deadman/worker/handler.h"

namespace deadman::worker {

struct HttpOptions {
    std::string url;
    std::string secret;                                // the secret's bytes; empty: not signed
    base::Duration timeout = std::chrono::seconds(30); // over all hops; the job's own counts too
    base::Duration connect_timeout = std::chrono::seconds(5);
    bool allow_private_addresses = false;
    int max_redirects = 3;
    std::size_t max_output_bytes = 64 << 10; // of the answer's body, kept
};

/// `clock` must outlive the handler.
Handler make_http_handler(HttpOptions options, const base::Clock& clock);

} // namespace deadman::worker

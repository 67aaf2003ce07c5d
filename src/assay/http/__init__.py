"""Ask a server over HTTP: retries, a bound on everything, and a token that nobody ever sees.

The token is read from the environment when the call is made, and lives in that call alone. No redirect is followed, so
that it never reaches a host the user did not name. What the server says is shown only after the token is struck out.

Certificates are checked. The proxies that `http_proxy`, `https_proxy` and `no_proxy` name are used, as curl does; a
name inside the network that the proxy does not know belongs into `no_proxy`.
"""

from __future__ import annotations

from assay.http.client import (
    DEFAULT_HTTP,
    AccessDenied,
    Connections,
    HttpLimits,
    HttpRequest,
    HttpResponse,
    RawResponse,
    RequestRejected,
    RetryPolicy,
    asked_again,
    make_call,
    post_json,
    read_json,
    read_token,
    redact_url,
    send,
    web_address,
)

__all__ = [
    "DEFAULT_HTTP",
    "AccessDenied",
    "Connections",
    "HttpLimits",
    "HttpRequest",
    "HttpResponse",
    "RawResponse",
    "RequestRejected",
    "RetryPolicy",
    "asked_again",
    "make_call",
    "post_json",
    "read_json",
    "read_token",
    "redact_url",
    "send",
    "web_address",
]

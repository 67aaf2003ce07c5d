"""HTTP requests with retries, limits and redacted tokens.

The token is read from the environment for each call. Redirects are not followed, so that it never reaches another host,
and it is redacted in quoted responses.

Certificates are checked. The proxies in `http_proxy`, `https_proxy` and `no_proxy` are used, as by curl; hosts that the
proxy does not know belong in `no_proxy`.
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
    describe_attempts,
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
    "describe_attempts",
    "make_call",
    "post_json",
    "read_json",
    "read_token",
    "redact_url",
    "send",
    "web_address",
]

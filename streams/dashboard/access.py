"""Access control: require a token if other hosts can connect, and reject foreign pages.

On loopback there is no token, but pages of other origins run in the same browser. Such a page must
not read a response or open a websocket. The Host header reveals a page whose own host name resolves
to loopback (DNS rebinding); the Origin header reveals a page that opens a websocket. A request for
an image or a frame has no Origin header, but it has Sec-Fetch-Site, which browsers send to loopback
and over TLS. Links from other pages are allowed, because they request a document. If a container's
port is published on loopback, neighbouring containers use the container's name, which cannot be the
host name of a foreign page.

Every response forbids framing by other pages and loading from other servers. Evaluation of scripts
is allowed, because Vue compiles templates in the browser.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

from streams.dashboard.config import is_loopback
from streams.telemetry import HEAD_BYTES

COOKIE = "hopline_token"
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_GUARDS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
_WHO = "This dashboard requires its token: open the address that `hopline dashboard` printed.\n"
_ELSEWHERE = "This dashboard accepts requests from its own pages only.\n"
_TOO_LARGE = f"This dashboard accepts headers of at most {HEAD_BYTES:,} bytes.\n"


class Access:
    """An ASGI application that passes authorized requests on to another application."""

    def __init__(self, inner: Application, token: str | None, names: Collection[str] = ()) -> None:
        self._inner, self._token, self._names = inner, token, names

    @property
    def app(self) -> Application:
        """Return the inner application; NiceGUI reads this attribute."""
        return self._inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it: 401, 403, 431, or a redirect to set a cookie."""
        send = _guarded(send)
        if scope["type"] not in ("http", "websocket"):
            await self._inner(scope, receive, send)
        elif sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD_BYTES:
            await _refuse(scope, send, 431, _TOO_LARGE)
        elif foreign(headers_of(scope), self._names, guarded=self._token is not None):
            await _refuse(scope, send, 403, _ELSEWHERE)
        elif self._token is None or self._shown(scope):
            await self._inner(scope, receive, send)
        elif scope["type"] == "http" and self._same(_asked(scope).get("token", [""])[0]):
            await _remember(scope, send, self._token)
        else:
            await _refuse(scope, send, 401, _WHO)

    def _shown(self, scope: Scope) -> bool:
        headers = headers_of(scope)
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        token = bearer if kind.casefold() == "bearer" else ""
        return self._same(_cookies(headers.get("cookie", "")).get(COOKIE) or token)

    def _same(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), (self._token or "").encode())


def headers_of(scope: Scope) -> dict[str, str]:
    """Return a request's headers, their names in lower case."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def foreign(headers: dict[str, str], names: Collection[str], *, guarded: bool) -> bool:
    """Return whether a request comes from another origin's page, or uses a foreign host name.

    A top-level navigation from another origin's page is not foreign, unless it has an Origin header
    with that origin. ``names`` are allowed besides the names of loopback.
    """
    elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    if elsewhere and headers.get("sec-fetch-dest") != "document":
        return True
    host = headers.get("host", "")
    origin = headers.get("origin")
    try:
        if origin is not None and urlsplit(origin).netloc != host:
            return True
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:  # an unclosed bracket
        return True
    return not guarded and not is_loopback(name) and name not in names


def _guarded(send: Send) -> Send:
    """Return a send function that adds the security headers."""

    async def sends(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_GUARDS]
        await send(message)

    return sends


def _cookies(header: str) -> dict[str, str]:
    """Return cookies by name, quotes included; Python's own parser may take quadratic time."""
    cookies = (part.partition("=") for part in header.split(";"))
    return {name.strip(): value.strip() for name, _, value in cookies}


def _asked(scope: Scope) -> dict[str, list[str]]:
    return parse_qs(scope["query_string"].decode("latin-1"))


async def _remember(scope: Scope, send: Send, token: str) -> None:
    """Store the token in a cookie, and redirect to the URL without it, because users share URLs."""
    rest = [(k, v) for k, v in parse_qsl(scope["query_string"].decode("latin-1")) if k != "token"]
    where = quote(scope["path"]) + (f"?{urlencode(rest)}" if rest else "")
    # Two leading slashes would redirect to another host.
    where = "/" + where.lstrip("/")
    # A proxy may end TLS; uvicorn trusts a proxy on loopback, or in FORWARDED_ALLOW_IPS.
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax{secure}"
    await _answer(send, 303, "", (("location", where), ("set-cookie", cookie)))


async def _refuse(scope: Scope, send: Send, status: int, text: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await _answer(send, status, text)


async def _answer(
    send: Send, status: int, text: str, headers: tuple[tuple[str, str], ...] = ()
) -> None:
    fields = (
        ("content-type", "text/plain; charset=utf-8"),
        ("cache-control", "no-store"),
        *headers,
    )
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in fields]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": text.encode()})

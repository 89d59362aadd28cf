"""Exchanges with one server: connections that are kept, time limits, errors. Standard library only."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import email.utils
import http.client
import json
import os
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from ._version import __version__
from .errors import BY_CODE, InternalError, Invalid, TaskerError, TooLarge, Unavailable

#: A value of a query; None is left out.
QueryValue = str | int | bool | datetime | Sequence[str] | None

_CONNECT_TIMEOUT = 10.0
_MAX_IDLE = 64
_CHUNK = 64 << 10
#: The silence after which a stream counts as lost. The server sends a sign of life every 15 seconds.
_SILENCE = 45.0
_MAX_EVENT = 1 << 20


def dumps(value: Any) -> bytes:
    """Encode a value as JSON. Dataclasses, UUIDs and times with a zone have a form, too.

    >>> dumps({"at": datetime.fromisoformat("2026-11-26T09:00:00+00:00")})
    b'{"at":"2026-11-26T09:00:00+00:00"}'
    """
    text = json.dumps(value, default=_encode, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def timestamp(value: datetime) -> str:
    """Write a time as the API takes it. One without a zone is refused, because two machines read it differently."""
    if value.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone")
    return value.isoformat()


class Flight:
    """A call on its way, which another thread may abort."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._aborted = threading.Event()
        self._socket: socket.socket | None = None

    @property
    def aborted(self) -> bool:
        return self._aborted.is_set()

    def abort(self) -> None:
        """End the call. Whoever waits for its answer gets `Unavailable`."""
        with self._lock:
            self._aborted.set()
            if self._socket is not None:
                with contextlib.suppress(OSError):  # it is closed already
                    # Not the method of an SSLSocket, which is not to be called while another thread reads.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def carries(self, sock: socket.socket | None) -> None:
        """Name the connection of the call; None: it has ended."""
        with self._lock:
            self._socket = sock
            if sock is not None and self._aborted.is_set():
                raise OSError("the call was aborted")

    def sleep(self, seconds: float) -> None:
        """Pause, but not beyond an abort."""
        self._aborted.wait(seconds)


#: The flight of the calls that this thread makes, if anybody may abort them.
current_flight: contextvars.ContextVar[Flight | None] = contextvars.ContextVar("tasker_flight", default=None)


class Transport:
    """Sends requests to one server. It is safe for use by several threads, and after a fork."""

    def __init__(
        self,
        server: str,
        *,
        api_key: str | None,
        timeout: float,
        max_response_bytes: int,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Invalid(f"server address {server!r} is not a URL", hint="write it as http://host:port")
        if parts.username is not None or parts.query or parts.fragment:
            # Errors and logs repeat the address, so it must hold no secret.
            raise Invalid("server address has a user, a query or a fragment", hint="a key goes into api_key")
        self.base = f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")
        self.timeout = timeout
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._tls = ssl_context
        if parts.scheme == "https" and self._tls is None:
            self._tls = ssl.create_default_context()
        if parts.scheme == "http":
            self._tls = None
        self._limit = max_response_bytes
        self._headers = {"Accept": "application/json", "User-Agent": f"tasker-python/{__version__}"}
        if api_key:
            self._headers["X-API-Key"] = api_key
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._owner = os.getpid()

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> Any:
        """Send a request and return the decoded answer. Bytes are sent as they are, other bodies as JSON."""
        payload = body if body is None or isinstance(body, bytes) else dumps(body)
        headers = dict(self._headers)
        if payload is not None:
            headers["Content-Type"] = content_type
        target = self._prefix + path + _query(query)
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        flight = current_flight.get() or Flight()
        try:
            try:
                answer = self._exchange(flight, method, target, payload, headers, deadline)
            except (OSError, http.client.HTTPException):
                # Reading twice does no harm, and the usual reason is a connection that the server closed.
                if method != "GET" or flight.aborted or time.monotonic() >= deadline:
                    raise
                answer = self._exchange(flight, method, target, payload, headers, deadline)
        except (OSError, http.client.HTTPException, ValueError) as e:
            reason = "the call was aborted" if flight.aborted else str(e) or type(e).__name__
            raise Unavailable(
                f"{method} {self.base}{path}: {reason}", hint="is the server running and reachable?"
            ) from e
        return self._decode(*answer)

    def events(
        self, path: str, query: Mapping[str, QueryValue] | None, after: str | None
    ) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """Receive server-sent events with their IDs, until the stream breaks. One without data is a sign of life."""
        headers = self._headers | {"Accept": "text/event-stream"}
        if after:
            headers["Last-Event-ID"] = after
        flight = current_flight.get() or Flight()
        connection: http.client.HTTPConnection | None = None
        try:
            connection = self._connect(time.monotonic() + self.timeout)
            sock: socket.socket = connection.sock
            flight.carries(sock)
            sock.settimeout(self.timeout)
            connection.request("GET", self._prefix + path + _query(query), headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise problem(response, self._read(response, sock, time.monotonic() + self.timeout))
            if (kind := response.headers.get_content_type()) != "text/event-stream":
                raise InternalError(f"{self.base} answers with {kind} instead of a stream of events")
            sock.settimeout(_SILENCE)
            yield from _events(response)
            raise OSError("the stream of events has ended")
        except (OSError, http.client.HTTPException, ValueError) as e:
            reason = "the call was aborted" if flight.aborted else str(e) or type(e).__name__
            raise Unavailable(f"GET {self.base}{path}: {reason}", hint="is the server running and reachable?") from e
        finally:
            flight.carries(None)
            if connection is not None:
                connection.close()

    def _exchange(
        self,
        flight: Flight,
        method: str,
        target: str,
        payload: bytes | None,
        headers: Mapping[str, str],
        deadline: float,
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self._connect(deadline)
        keep = False
        try:
            sock: socket.socket = connection.sock
            flight.carries(sock)
            sock.settimeout(_left(deadline))
            connection.request(method, target, body=payload, headers=dict(headers))
            response = connection.getresponse()
            content = self._read(response, sock, deadline)
            keep = not response.will_close
            return response, content
        finally:
            flight.carries(None)
            if keep and not flight.aborted:
                self._keep(connection)
            else:
                connection.close()

    def _read(self, response: http.client.HTTPResponse, sock: socket.socket, deadline: float) -> bytes:
        parts, size = [], 0
        while part := response.read(_CHUNK):
            parts.append(part)
            size += len(part)
            if size > self._limit:
                raise TooLarge(
                    f"the answer is longer than {self._limit} bytes",
                    hint="ask for a smaller page, or raise max_response_bytes",
                )
            if not response.isclosed():  # else the socket may be closed, too
                sock.settimeout(_left(deadline))
        return b"".join(parts)

    def _connect(self, deadline: float) -> http.client.HTTPConnection:
        with self._lock:
            if self._owner != os.getpid():
                # A fork shares the connections of its parent; two processes must not speak on one.
                self._idle, self._owner = [], os.getpid()
            while self._idle:
                connection = self._idle.pop()
                if connection.sock is not None and _silent(connection.sock):
                    return connection
                connection.close()
        timeout = min(_CONNECT_TIMEOUT, _left(deadline))
        if self._tls is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        else:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)
        connection.connect()
        return connection

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _MAX_IDLE and self._owner == os.getpid():
                self._idle.append(connection)
                return
        connection.close()

    def _decode(self, response: http.client.HTTPResponse, content: bytes) -> Any:
        if not 200 <= response.status <= 299:
            raise problem(response, content)
        kind = response.headers.get_content_type()
        try:
            if kind != "application/json":
                raise ValueError(f"it is {kind}")
            return json.loads(content)
        except ValueError as e:
            raise InternalError(
                f"{self.base} does not answer as a Tasker server does: {e}",
                hint="check the address, and that client and server have the same version",
            ) from e


def _events(lines: http.client.HTTPResponse) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Parse a stream of server-sent events."""
    event_id, data = "", b""
    while line := lines.readline(_MAX_EVENT):
        if len(line) + len(data) >= _MAX_EVENT:
            raise ValueError("an event is too long")
        name, _, value = line.rstrip(b"\r\n").partition(b":")
        value = value.removeprefix(b" ")
        if name == b"id":
            event_id = value.decode()
        elif name == b"data":
            data += value
        elif not name and not value and line[:1] != b":":
            yield event_id, json.loads(data) if data else None
            data = b""


def problem(response: http.client.HTTPResponse, content: bytes) -> TaskerError:
    """Make the error of a problem document (RFC 9457), or of what something in front of the server answered."""
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {}
    kind = BY_CODE.get(body.get("code", "")) or BY_CODE[_code_of(response.status)]
    message = body.get("detail") or body.get("title") or f"the server answers {response.status} {response.reason}"
    hint = body.get("hint", "")
    if 300 <= response.status <= 399:
        message += f" to {response.headers.get('Location')}"
        hint = "redirects are not followed; use the address it names"
    return kind(
        message,
        hint=hint,
        details=body.get("errors") or (),
        retry_after=_retry_after(response.headers.get("Retry-After")),
    )


def _code_of(status: int) -> str:
    """The code of a bare HTTP status.

    >>> _code_of(502), _code_of(409), _code_of(418)
    ('unavailable', 'conflict', 'invalid')
    """
    known = {
        401: "unauthenticated",
        403: "forbidden",
        404: "not_found",
        410: "not_found",
        409: "conflict",
        413: "too_large",
        429: "exhausted",
        408: "unavailable",
        502: "unavailable",
        503: "unavailable",
        504: "unavailable",
    }
    return known.get(status) or ("invalid" if 400 <= status <= 499 else "internal")


def _retry_after(value: str | None) -> float:
    """Read the header Retry-After: seconds, or a date.

    >>> _retry_after("30"), _retry_after("-1"), _retry_after(None), _retry_after("soon")
    (30.0, 0.0, 0.0, 0.0)
    """
    if not value:
        return 0.0
    try:
        return min(max(float(int(value)), 0.0), 24 * 60 * 60.0)
    except ValueError:
        pass
    try:
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0


def _query(query: Mapping[str, QueryValue] | None) -> str:
    """Write a query.

    >>> _query({"state": ["error", "cancelled"], "limit": 5, "name": None})
    '?state=error&state=cancelled&limit=5'
    """
    pairs: list[tuple[str, str]] = []
    for key, value in (query or {}).items():
        if value is None:
            continue
        if isinstance(value, bool):
            pairs.append((key, "true" if value else "false"))
        elif isinstance(value, datetime):
            pairs.append((key, timestamp(value)))
        elif isinstance(value, str | int):
            pairs.append((key, str(value)))
        else:
            pairs.extend((key, v) for v in value)
    return "?" + urlencode(pairs) if pairs else ""


def path_of(*segments: str) -> str:
    """Join segments to a path. One that HTTP would resolve or drop is refused.

    >>> path_of("v1", "tasks", "a/b")
    '/v1/tasks/a%2Fb'
    """
    for s in segments:
        if s in ("", ".", ".."):
            raise ValueError(f"{s!r} names nothing")
    return "".join("/" + quote(s, safe="") for s in segments)


def _silent(sock: socket.socket) -> bool:
    """Whether an idle connection is as it was left. The server has closed one from which there is something to read."""
    try:
        sock.settimeout(0)
        socket.socket.recv(sock, 1, socket.MSG_PEEK)  # not the method of an SSLSocket, which takes no flags
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left

"""A proxy in front of an S3 server that fails as it is told, request by request."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from s3_server import S3

SECONDS = 60
CUT = "cut"
LOST = "lost"
UNCONDITIONAL = "unconditional"
_ERROR = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>said by the proxy</Message></Error>'
_CODES = {403: "AccessDenied", 503: "SlowDown"}
_CONDITIONS = {"if-match", "if-none-match"}
_OF_ONE_CONNECTION = {"connection", "transfer-encoding", "content-length", "keep-alive", "host", "expect"}


@dataclass(frozen=True)
class Request:
    """A client's request; ``path`` has the bucket, the object and the query."""

    method: str
    path: str


Fault = Callable[[Request], int | str | None]
"""The fault for a request: the status of an error, CUT (in the middle of the answer), LOST (done, but not
answered), UNCONDITIONAL (done whatever its conditions are), or None."""


@dataclass
class Proxy:
    """The proxy: ``store`` is the server as seen through it, ``behind`` the endpoint of the server itself.

    ``asked`` are all requests so far, ``sent_bytes`` the bytes of the answers.
    """

    store: S3
    behind: str
    fault: Fault = lambda _: None
    asked: list[Request] = field(default_factory=list)
    sent_bytes: int = 0


@contextmanager
def store_proxy(store: S3) -> Iterator[Proxy]:
    """Start the proxy; it is stopped at the end of the context."""
    server = _Server(store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.proxy
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, store: S3) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = urlsplit(store.endpoint).netloc
        way = replace(store, endpoint=f"http://127.0.0.1:{self.server_port}")
        self.proxy = Proxy(way, store.endpoint)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that is killed hangs up
            super().handle()

    def _answer(self) -> None:
        proxy = self.server.proxy
        request = Request(self.command, self.path)
        proxy.asked.append(request)
        body = self._body()
        fault = proxy.fault(request)
        if isinstance(fault, int):
            self._send(fault, {}, _ERROR.format(code=_CODES[fault]).encode())
            return
        answer = self._asked_behind(body, _CONDITIONS if fault == UNCONDITIONAL else set())
        if fault == LOST:
            self.close_connection = True
            return
        self._send(*answer, is_cut=fault == CUT)

    def _asked_behind(self, body: bytes, left_out: set[str]) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self.server.behind, timeout=SECONDS)
        left_out = left_out | _OF_ONE_CONNECTION
        own = {name: value for name, value in self.headers.items() if name.lower() not in left_out}
        connection.request(self.command, self.path, body, own | {"Content-Length": str(len(body))})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        self.server.proxy.sent_bytes += len(content)
        return answer.status, dict(answer.getheaders()), content

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # the lines after the last piece
        return b"".join(pieces)

    def _send(self, status: int, headers: dict[str, str], content: bytes, *, is_cut: bool = False) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in _OF_ONE_CONNECTION:
                self.send_header(name, value)
        told = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", told)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if is_cut else content)
        self.close_connection = self.close_connection or is_cut

    do_HEAD = do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815  as http.server asks for them

    def log_message(self, *_: object) -> None:
        pass

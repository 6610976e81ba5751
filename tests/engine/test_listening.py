"""What listens while kcompact runs: on loopback only, and nobody gets an answer who has no token."""

import socket
from pathlib import Path

import pytest

from engine_runs import processes_of, start_python, wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        not Path("/proc/net/tcp").exists(), reason="sockets are looked up as Linux shows them"
    ),
]

_LISTENING = "0A"
_HANGING = """
import os, time
from kcompact.engine.session import SessionOptions, open_session
from kcompact.engine.tasks import run_tasks

def hang(_):
    open(os.environ["TMPDIR"] + "/hangs", "w").close()
    time.sleep(600)

with open_session(SessionOptions(master="local[2]")) as spark:
    run_tasks(spark, 1, hang)
"""
# As the daemon of PySpark writes it: the length of the word, and the word.
_NO_TOKEN = b"\x00\x00\x00\x03err"
_REQUESTS = {
    "http": b"GET / HTTP/1.0\r\n\r\n",
    "py4j": b"c\nt\ngetProperties\ne\n",
    "zeros": bytes(64),
}


def test_only_loopback_is_listened_on_and_no_request_without_a_token_is_answered(tmp_path: Path) -> None:
    with start_python(_HANGING, tmp_path) as process:
        try:
            assert wait_until((tmp_path / "hangs").exists)
            addresses = listening(processes_of(tmp_path))
            assert addresses
            assert [host for host, _port in addresses if host not in ("127.0.0.1", "::1")] == []
            answers = {
                (*address, kind): _answer(*address, request)
                for address in addresses
                for kind, request in _REQUESTS.items()
            }
        finally:
            process.terminate()
    assert {at: answer for at, answer in answers.items() if not _refuses(answer)} == {}


def _refuses(answer: bytes) -> bool:
    """Nothing; an error of py4j; or, from the Python daemon, a worker's number and that it wants a token."""
    return not answer or answer.startswith((b"!x", b"!z")) or answer[4:] in (b"", _NO_TOKEN)


def _answer(host: str, port: int, request: bytes) -> bytes:
    """All that is sent back until the connection is closed, or nothing has come for a second."""
    answer = b""
    with socket.create_connection((host, port), timeout=5) as connection:
        connection.settimeout(1)
        try:
            connection.sendall(request)
            while more := connection.recv(4096):
                answer += more
        except OSError:  # closed, or no answer
            pass
    return answer


def listening(processes: dict[int, str]) -> list[tuple[str, int]]:
    """Host and port of every TCP socket that one of the processes listens on."""
    sockets = {inode for process in processes for inode in _sockets_of(process)}
    lines = [
        line.split()
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text().splitlines()[1:]
    ]
    return [_address(line[1]) for line in lines if line[3] == _LISTENING and line[9] in sockets]


def _sockets_of(process: int) -> list[str]:
    inodes = []
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        target = str(descriptor.readlink()) if descriptor.is_symlink() else ""
        if target.startswith("socket:["):
            inodes.append(target[8:-1])
    return inodes


def _address(text: str) -> tuple[str, int]:
    """As the kernel writes it: words of four bytes in this machine's order, then the port."""
    address, port = text.split(":")
    words = [bytes.fromhex(address[start : start + 8])[::-1] for start in range(0, len(address), 8)]
    packed = b"".join(words)
    if packed[:12] == bytes(10) + b"\xff\xff":  # IPv4 as IPv6
        packed = packed[12:]
    family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    return socket.inet_ntop(family, packed), int(port, 16)

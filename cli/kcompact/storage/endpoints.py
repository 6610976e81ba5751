"""Where S3 is, if not at Amazon, and in which region."""

import os
import socket
import time
from urllib.parse import SplitResult

_SECONDS = 5  # for which a server may be starting, or be out of reach


def s3_endpoint() -> str:
    """Where S3 is, if not at Amazon: the variables of Amazon's own tools, which pyarrow does not look at."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def s3_region(bucket: str, endpoint: str) -> str | None:
    """The region to ask; None: that of a server of one's own, which has none. Raises OSError."""
    from pyarrow.fs import resolve_s3_region

    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return named or (None if endpoint else resolve_s3_region(bucket))


def await_server(endpoint: SplitResult) -> None:
    """Raise OSError where no server listens at an endpoint: its client would ask it for a minute."""
    place = endpoint.hostname or "", endpoint.port or {"http": 80}.get(endpoint.scheme, 443)
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            socket.create_connection(place, timeout=_SECONDS).close()
        except OSError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(1)
        else:
            return

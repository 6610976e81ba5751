"""Errors of a store in kcompact's words: the address, what is wrong, and what to look at.

The store's own text is left out, as it may hold secrets.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from kcompact.errors import InputError, KcompactError, StoreError

LOOKED_UP = "as its own tools find them (environment, profile, role), on the machines of Spark's workers too"
_REFUSED = (
    r"ACCESS_DENIED|ACCESS_KEY_ID|SIGNATURE|EXPIRED_TOKEN|_CLIENT|\b40[13]\b|PERMISSION_DENIED|Authori?[sz]"
    "|Credentials|OAuth2"
)
_NO_BUCKET = "there is no such bucket", "look at the name, the region and the endpoint"
_REFUSAL = (
    "the store refuses these credentials",
    f"look at the credentials and what they may do; they are looked up {LOOKED_UP}",
)
# words of a store's error: message, hint
_KNOWN = {
    r"NO_SUCH_BUCKET|bucket does not exist|ContainerNotFound": _NO_BUCKET,
    _REFUSED: _REFUSAL,
    r"SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|REQUEST_TIMEOUT|THROTTLING|\b50[0234]\b": (
        "the store does not answer, even after many attempts",
        "try again later; nothing was lost",
    ),
    "HDFS connection": (
        "the name node cannot be reached",
        "look at the network and the address; hdfs:/// takes that of core-site.xml in a folder of CLASSPATH",
    ),
    r"NETWORK_CONNECTION|resolve|Name or service|refused|timed out|UNAVAILABLE|ConnectException": (
        "the store cannot be reached",
        "look at the network and at the endpoint (AWS_ENDPOINT_URL for S3, AZURE_STORAGE_CONNECTION_STRING)",
    ),
    "Empty path component": (
        "a name with // in it, which kcompact cannot ask a store for",
        "copy the objects to a prefix without //, as with aws s3 cp --recursive",
    ),
    "InvalidHeader|InvalidUri": (
        "no request can be made with this endpoint and these credentials",
        "look at both for blanks and line feeds",
    ),
    "libjvm|libhdfs": (
        "Java or Hadoop's own client library is not found",
        "set JAVA_HOME, HADOOP_HOME and CLASSPATH (hadoop classpath --glob) here and for Spark's workers",
    ),
}


def no_such_bucket(address: str) -> InputError:
    """The error for an address in a bucket that does not exist."""
    sentence, hint = _NO_BUCKET
    return InputError(f"{address}: {sentence}", hint=hint)


def is_refusal(error: Exception) -> bool:
    """Whether an error of a store says that the credentials do not allow a request."""
    return _is_denied(error) or re.search(_REFUSED, str(error), re.IGNORECASE) is not None


def _is_denied(error: Exception) -> bool:
    return isinstance(error, PermissionError) or getattr(error, "errno", None) == errno.EACCES


@contextmanager
def explained(address: str, kind: type[KcompactError] = InputError) -> Iterator[None]:
    """In this context, raise errors of a store as errors of ``kind``, in kcompact's words."""
    from pyarrow import ArrowException

    try:
        yield
    except FileNotFoundError as error:
        raise kind(f"{address}: there is no such object") from error
    except (OSError, ValueError, ArrowException) as error:
        raise in_words(address, error, kind) from None  # its text may hold credentials


def in_words(address: str, error: Exception, kind: type[KcompactError]) -> KcompactError:
    """The error of ``kind`` to raise instead of a store's; a StoreError instead of an InputError."""
    kind = StoreError if kind is InputError else kind
    text = str(error)
    if _is_denied(error):
        return kind(f"{address}: {_REFUSAL[0]}", hint=_REFUSAL[1])
    for words, (sentence, hint) in _KNOWN.items():
        if re.search(words, text, re.IGNORECASE):
            return kind(f"{address}: {sentence}", hint=hint)
    code = re.search(r"AWS Error ([A-Z_]+)", text)
    named = f" ({code[1]})" if code else ""
    return kind(f"{address}: the store cannot serve a request{named}", hint="look at the log of the store")

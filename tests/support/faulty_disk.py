"""The operating system as ``kcompact.storage.disk`` sees it, with a fault at a call of one's choice."""

import os
from collections.abc import Callable
from typing import Any

CHANGES = {"open", "write", "copy_file_range", "fsync", "close", "rename", "link", "unlink", "mkdir", "rmdir"}
CHANGES |= {"chmod", "chown"}


class Faulty:
    """Passes calls on to ``os``, and calls ``fault`` before the ``at``-th call that changes something."""

    def __init__(self, fault: Callable[[], None], at: int) -> None:
        self._fault, self.left = fault, at

    def __getattr__(self, name: str) -> Any:
        call = getattr(os, name)
        if name not in CHANGES:
            return call

        def counted(*arguments: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                self._fault()
            return call(*arguments)

        return counted

"""The device that is always full, as a disk may be."""

from pathlib import Path

import pytest

needs_full_device = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="Linux alone has a device that is always full"
)

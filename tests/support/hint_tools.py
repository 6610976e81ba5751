"""Tools that are named in hints, and that may be missing on a machine."""

import os
import shutil

import pytest

# In CI, where conftest.py does not set the variable, it must be there: .ci/run installs it.
needs_jq = pytest.mark.skipif(
    shutil.which("jq") is None and os.environ["CI"] == "tests", reason="the hint's own tool is not installed"
)

"""Where the Pythons that we start import from: never the folder that the user happens to work in.

A downloaded folder may hold a ``json.py`` beside the dump. Python looks there first when it is started with
``-m`` (unless ``PYTHONSAFEPATH`` is set), and wherever an entry of ``PYTHONPATH`` is empty or relative. Our
own process sees to itself (``kcompact.__main__``).
"""

import os
from collections.abc import Mapping
from pathlib import Path


def safe_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment to start a process in whose Pythons import only from where they are installed."""
    entries = environment.get("PYTHONPATH", "").split(os.pathsep)
    folders = [entry for entry in entries if Path(entry).is_absolute()]
    variables = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    return variables | {"PYTHONSAFEPATH": "1"} | ({"PYTHONPATH": os.pathsep.join(folders)} if folders else {})

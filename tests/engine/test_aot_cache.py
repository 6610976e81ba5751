"""Where a cache may lie, when it is believed, when one is made; and that a bad one costs only time."""

import json
import os
import socket
import time
from pathlib import Path

import pytest

from engine_runs import run_python, wait_until
from kcompact.engine.startup.aot_cache import AotCache, aot_cache

FLAGS = ("--flag",)


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """A made-up Java and jars, under ``tmp_path``."""
    home = tmp_path / "java-runtime"
    for part in ("release", "lib/modules", "bin/java"):
        (home / part).parent.mkdir(parents=True, exist_ok=True)
        (home / part).write_text(part)
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark.jar").write_text("jar")
    return home / "bin" / "java"


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "cache").mkdir(mode=0o700)
    return tmp_path / "cache" / "kcompact"


def sealed(folder: Path) -> AotCache:
    folder.mkdir(mode=0o700, parents=True)
    cache = AotCache(folder / "spark-1.aot")
    cache.path.write_bytes(b"classes" * 1000)
    cache.path.chmod(0o600)
    cache.seal()
    return cache


def place_of_cache(java: Path, jars: Path, flags: tuple[str, ...] = FLAGS) -> Path | None:
    cache = aot_cache(java, sorted(jars.glob("*.jar")), flags)
    return None if cache is None else cache.path


def test_the_place_depends_on_jars_java_and_flags(java: Path, tmp_path: Path, cache_folder: Path) -> None:
    jars = tmp_path / "jars"
    first = place_of_cache(java, jars)
    assert first is not None
    assert first.parent == cache_folder
    assert place_of_cache(java, jars) == first
    others = [place_of_cache(java, jars, ("--other",))]
    os.utime(jars / "spark.jar", ns=(1, 1))
    others.append(place_of_cache(java, jars))
    (jars / "more.jar").write_text("jar")
    others.append(place_of_cache(java, jars))
    (java.parents[1] / "release").write_text("another")
    others.append(place_of_cache(java, jars))
    assert len({first, *others}) == 5


def test_no_place_without_a_home(
    java: Path, tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_folder.parent.exists()
    monkeypatch.delenv("HOME")
    assert place_of_cache(java, tmp_path / "jars") is None


def test_no_place_in_a_home_that_is_not_there(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nonexistent"))
    assert place_of_cache(java, tmp_path / "jars") is None
    (tmp_path / "nonexistent").mkdir()
    assert place_of_cache(java, tmp_path / "jars") is not None


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_no_place_in_a_folder_that_others_can_write(
    java: Path, tmp_path: Path, cache_folder: Path, mode: int
) -> None:
    cache_folder.mkdir()
    cache_folder.chmod(mode)
    assert place_of_cache(java, tmp_path / "jars") is None


def test_no_place_behind_a_link(java: Path, tmp_path: Path, cache_folder: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache_folder.symlink_to(tmp_path / "elsewhere")
    assert place_of_cache(java, tmp_path / "jars") is None


def test_a_cache_is_believed_as_recorded(cache_folder: Path) -> None:
    cache = sealed(cache_folder)
    assert cache.is_usable()
    assert not AotCache(cache_folder / "spark-2.aot").is_usable()


def test_a_changed_byte_is_seen_and_the_cache_removed(cache_folder: Path) -> None:
    cache = sealed(cache_folder)
    content = bytearray(cache.path.read_bytes())
    content[3000] ^= 1
    status = cache.path.stat()
    cache.path.write_bytes(content)
    os.utime(cache.path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not cache.is_usable()
    assert not cache.path.exists()


def test_a_copy_with_the_same_content_is_believed(cache_folder: Path) -> None:
    cache = sealed(cache_folder)
    content = cache.path.read_bytes()
    cache.path.unlink()
    cache.path.write_bytes(content)
    cache.path.chmod(0o600)
    assert cache.is_usable()


@pytest.mark.parametrize("seal", [b"", b"{}", b"[]", b'{"checked_at": "x"}', b"[" * 2000, b"[" * 9_000_000])
def test_a_broken_seal_is_no_cache(cache_folder: Path, seal: bytes) -> None:
    cache = sealed(cache_folder)
    cache.path.with_suffix(".json").write_bytes(seal)
    assert not cache.is_usable()


@pytest.mark.parametrize("suffix", [".aot", ".json"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "link", "loop"])
def test_what_is_no_file_is_no_cache(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, suffix: str
) -> None:
    cache = sealed(cache_folder)
    path = cache.path.with_suffix(suffix)
    elsewhere = path.rename(cache_folder.parent / "elsewhere")
    with socket.socket(socket.AF_UNIX) as listening:
        if kind == "pipe":
            os.mkfifo(path, 0o600)
        elif kind == "socket":
            with monkeypatch.context() as patch:
                patch.chdir(path.parent)  # a socket's path may have some hundred bytes only
                listening.bind(path.name)
        elif kind == "folder":
            path.mkdir(0o700)
        else:
            path.symlink_to(elsewhere if kind == "link" else path.name)
        seal = {"crc32": 0, "checked_at": time.time() - 10**6, "identity": []}
        if suffix == ".aot":
            cache.path.with_suffix(".json").write_text(json.dumps(seal))  # so that the content is asked for
        assert not cache.is_usable()


def test_a_cache_that_others_can_write_is_not_used(cache_folder: Path) -> None:
    cache = sealed(cache_folder)
    cache.path.chmod(0o622)
    assert not cache.is_usable()


def test_caches_that_nobody_used_for_a_month_are_removed(cache_folder: Path) -> None:
    old = sealed(cache_folder)
    month_ago = time.time() - 31 * 24 * 3600
    os.utime(old.path.with_suffix(".json"), (month_ago, month_ago))
    recent = AotCache(cache_folder / "spark-2.aot")
    recent.path.write_bytes(b"x")
    recent.seal()
    recent.remove_unused()
    assert not old.path.exists()
    assert recent.path.exists()


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"HOME": ""}])
@pytest.mark.spark
def test_no_cache_is_made_on_a_build_machine_or_without_a_home(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    cache_home = tmp_path / "cache"
    variables = {"CI": "", "XDG_CACHE_HOME": str(cache_home)} | environment
    run = run_python(_RUN, tmp_path, **variables)
    assert (run.returncode, run.stdout, run.stderr) == (0, "3\n", "")
    assert not cache_home.exists()


@pytest.mark.spark
def test_a_cache_is_made_once_used_and_if_damaged_done_without(tmp_path: Path) -> None:
    environment = {"CI": "", "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    folder = tmp_path / "cache" / "kcompact"
    run = run_python(_RUN, tmp_path, **environment)
    assert (run.returncode, run.stdout, run.stderr) == (0, "3\n", "")
    assert wait_until(lambda: list(folder.glob("*.json")) != [])
    (path,) = folder.glob("*.aot")
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert _java_flag_of_a_run(tmp_path, environment) == f"-XX:AOTCache={path}"

    with path.open("r+b") as file:  # a disk's error: nothing but the content changes
        file.seek(path.stat().st_size // 2)
        file.write(os.urandom(20 << 20))
    AotCache(path).seal(crc32=0)
    run = run_python(_RUN, tmp_path, **environment | {"CI": "true"})
    assert (run.returncode, run.stdout, run.stderr) == (0, "3\n", "")
    assert not path.exists()


_RUN = """
from kcompact.engine.session import SessionOptions, open_session
with open_session(SessionOptions(master="local[2]")) as spark:
    print(spark.range(3).count())
"""


def _java_flag_of_a_run(tmp_path: Path, environment: dict[str, str]) -> str:
    """The flag that Java was started with, printed by the run itself."""
    code = """
from kcompact.engine.session import open_session
with open_session() as spark:
    arguments = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
    print([flag for flag in arguments if "AOT" in flag][0])
"""
    return run_python(code, tmp_path, **environment).stdout.strip()

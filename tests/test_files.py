"""Files that are whole or not there, wherever the name leads."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from onepass.errors import OutputTakenError
from onepass.files import replacing, sweep


def write(path, content):
    with replacing(path) as file:
        file.write(content)


@pytest.mark.parametrize("old", [b"old", None])
def test_a_link_stays_and_leads_to_the_new_file(tmp_path, old):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "file", tmp_path / "link"
    link.symlink_to(target)
    if old is not None:
        target.write_bytes(old)
    write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_what_is_kept_of_a_link_is_the_link(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with replacing(tmp_path / "link", previous=tmp_path / "before") as file:
        file.write(b"new")
    assert [(tmp_path / name).read_bytes() for name in ("link", "before", "file")] == [b"new", b"old", b"old"]


def test_a_pipe_is_written_into(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    came = []
    reader = threading.Thread(target=lambda: came.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    write(tmp_path / "pipe", b"hello")
    reader.join(10)
    assert came == [b"hello"]
    assert (tmp_path / "pipe").is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    for letter in "xü":
        name = letter * (longest // len(letter.encode()))
        write(tmp_path / name, b"whole")
        assert (tmp_path / name).read_bytes() == b"whole"


def parts(folder):
    return [name for name in os.listdir(folder) if name.endswith(".part")]


def test_each_sweeps_up_its_own_remains_alone(tmp_path):
    ours, theirs = (tmp_path / ("x" * length) for length in (240, 241))
    for path in (ours, theirs):
        _killed_while_writing(path)
    assert len(parts(tmp_path)) == 2
    sweep(ours)
    assert len(parts(tmp_path)) == 1
    write(theirs, b"whole")
    assert os.listdir(tmp_path) == [theirs.name]


def _killed_while_writing(path):
    code = (
        "import os, signal, sys; from onepass.files import replacing\n"
        "with replacing(sys.argv[1]): os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], timeout=60)
    assert done.returncode == -signal.SIGKILL


def test_what_another_is_writing_is_no_leftover(tmp_path):
    with replacing(tmp_path / "file") as theirs:
        sweep(tmp_path / "file")
        write(tmp_path / "file", b"first")
        theirs.write(b"second")
    assert (tmp_path / "file").read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("links", [True, False])
def test_two_that_may_not_overwrite_both_keep_what_they_made(tmp_path, monkeypatch, links):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "no hard links on this file system")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    target = tmp_path / "labels.csv"
    for content, kept in ((b"second", "labels.1.csv"), (b"third", "labels.2.csv")):
        with pytest.raises(OutputTakenError) as told:
            _overtaken(target, content)
        assert (told.value.path, told.value.kept) == (str(target), str(tmp_path / kept))
        assert f"kept in {tmp_path / kept}" in str(told.value)
        assert (tmp_path / kept).read_bytes() == content
    assert target.read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == ["labels.1.csv", "labels.2.csv", "labels.csv"]


def _overtaken(target, content):
    """Write, and be overtaken by one that ends before."""
    with replacing(target, overwrite=False) as file:
        file.write(content)
        if not target.exists():
            with replacing(target, overwrite=False) as winner:
                winner.write(b"first")


def test_the_longest_name_that_is_taken_leaves_room_for_another(tmp_path):
    target = tmp_path / ("x" * os.pathconf(tmp_path, "PC_NAME_MAX"))
    target.write_bytes(b"first")
    with pytest.raises(OutputTakenError) as told, replacing(target, overwrite=False) as file:
        file.write(b"second")
    assert Path(told.value.kept).read_bytes() == b"second"
    assert target.read_bytes() == b"first"

"""Files that are whole or not there, wherever the name leads."""

import os
import threading
from contextlib import suppress

import pytest

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


def test_each_sweeps_up_its_own_remains_alone(tmp_path):
    ours, theirs = (tmp_path / ("x" * length) for length in (240, 241))
    with replacing(theirs) as kept, suppress(FileNotFoundError), replacing(ours) as lost:
        assert len(os.listdir(tmp_path)) == 2
        sweep(ours)
        assert [os.fstat(file.fileno()).st_nlink for file in (lost, kept)] == [0, 1]

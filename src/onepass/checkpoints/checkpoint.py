"""Checkpoints: the state of a pass and its place in the stream, in one file that is either whole or not there.

    run, file = Pass("perceptron"), "run.checkpoint"
    with checkpoint.locked(file), open_stream("data.svm", position=checkpoint.resume(file, run)) as stream:
        for rows, labels, origin in stream:
            run.feed(rows, labels)
            checkpoint.save(file, run, stream.position)

Killed at any moment and started again, this ends with the same bits as if it had never stopped. The checkpoint before
the last is kept at `run.checkpoint.prev`, for the case that the last is damaged. docs/resume.md has the command line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Protocol

from onepass import __version__
from onepass.checkpoints.packing import pack, unpack
from onepass.checkpoints.position import check_position
from onepass.checkpoints.tensors import BEGINNING, CHECKPOINT, read, write
from onepass.container import Array, regular
from onepass.errors import CheckpointError, LimitError, ResumeError, printable
from onepass.files import sweep
from onepass.io.position import Position
from onepass.passes import Pass  # noqa: F401 - the examples need it

FORMAT = 2
Path = str | os.PathLike[str]


class WithOptions(Protocol):
    """What was made with options that a checkpoint names."""

    @property
    def options(self) -> dict[str, Any]:
        """In plain values."""
        ...


class Resumable(WithOptions, Protocol):
    """A pass, or a run on several machines."""

    @property
    def rows(self) -> int:
        """Learned so far."""
        ...

    def state(self, *, copied: bool = True) -> dict[str, Any]:
        """All that changes."""
        ...

    def check_state(self, state: Any) -> None:
        """Raise CheckpointError unless the state can be one of its own."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        ...


class Checkpoint(NamedTuple):
    """What a file holds: the options of the pass, its state (None: the run is finished), where it stood, and words."""

    options: dict[str, Any]
    state: dict[str, Any] | None
    position: Position | None
    said: dict[str, Any]

    def restore(self, run: Resumable) -> None:
        """Bring a new pass to where this was written. Raises ResumeError that names what is different about it."""
        if self.state is None:
            raise ResumeError("the run is finished: there is nothing to resume")
        differs = difference(self.options, run.options)
        if differs is not None:
            raise ResumeError(differs)
        run.check_state(self.state)
        run.restore(self.state)


def save(path: Path, run: Resumable, position: Position | None = None, said: dict[str, Any] | None = None) -> None:
    """Write where the pass is, and where its stream; what `path` held is kept at `path.prev`.

    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "run.checkpoint"
    >>> run = Pass()
    >>> run.feed([[1.0], [-2.0]], [1, 0])
    >>> save(file, run)
    >>> other = Pass()
    >>> resume(file, other)
    >>> other.rounds, other.mistakes
    (2, 1)
    """
    arrays: dict[str, Array] = {}
    content = _head(run.options, said) | {
        "state": pack(run.state(copied=False), arrays),
        "position": pack(position, arrays),
    }
    write(path, content, arrays, previous(path))


def finish(path: Path, run: WithOptions, position: Position | None = None, said: dict[str, Any] | None = None) -> None:
    """Replace the checkpoint of a run that has ended by a short note that it has."""
    write(path, _head(run.options, said) | {"state": None, "position": pack(position, {})}, {})
    with suppress(FileNotFoundError):
        os.unlink(previous(path))


def load(path: Path, max_bytes: int = 1 << 36) -> Checkpoint:
    """The checkpoint in a file. CheckpointError: it is damaged. ResumeError: another version of onepass wrote it."""
    try:
        content, arrays = read(path, _check_version, max_bytes)
        parts = [unpack(content.get(name), arrays) for name in ("options", "state", "position")]
        found = Checkpoint(parts[0], parts[1], parts[2], content.get("said", {}))
        kinds: tuple[tuple[type, ...], ...] = ((dict,), (dict, type(None)), (Position, type(None)), (dict,))
        for name, part, kind in zip(Checkpoint._fields, found, kinds, strict=True):
            if not isinstance(part, kind):
                raise CheckpointError(f"damaged: its field {name!r} is missing or not what it should be")
        if found.position is not None:
            check_position(found.position)
    except (CheckpointError, ResumeError, LimitError) as error:
        raise type(error)(f"{printable(os.fspath(path))}: {error}") from None
    return found


def last(path: Path) -> tuple[Checkpoint | None, str | None]:
    """(the last good checkpoint, what there is to tell about it): of `path`, or else the one before it.

    None if there is neither. A previous one that is gone on from takes its place, lest the damaged one become the
    previous one.
    """
    before = previous(path)
    try:
        return load(path), None
    except FileNotFoundError:
        if not os.path.exists(before):
            return None, None
        trouble: Exception = CheckpointError(f"{printable(os.fspath(path))}: not there")
    except CheckpointError as error:
        if not os.path.exists(before):
            raise
        trouble = error
    try:
        found = load(before)
    except CheckpointError as error:
        raise CheckpointError(f"{trouble}; and so is the one before it. {error}") from None
    os.replace(before, path)
    return found, f"{trouble}; going on from the checkpoint before it"


def resume(path: Path, run: Resumable) -> Position | None:
    """Bring a new pass to its last good checkpoint, if there is one; where its stream stood.

    Raises ResumeError if the checkpoint belongs to a run with other options or is finished.
    """
    found, _ = last(path)
    if found is None:
        return None
    found.restore(run)
    return found.position


def is_checkpoint(path: Path) -> bool:
    """Whether the file begins as a checkpoint does, damaged or not."""
    try:
        with regular(path, CHECKPOINT) as file:
            return file.read(8 + len(BEGINNING))[8:] == BEGINNING
    except CheckpointError:  # a pipe, a device, a folder
        return False


def previous(path: Path) -> str:
    """Where the checkpoint before the last is kept."""
    return f"{os.fspath(path)}.prev"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """The checkpoint is this process's own while the block runs. Raises ResumeError if it is another's.

    The lock is the kernel's, so it ends with the process, however that ends; `path.lock` only has a name for it.
    """
    import fcntl

    name = f"{os.fspath(path)}.lock"
    while True:
        handle = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(handle, 32).decode(errors="replace").strip()
            os.close(handle)
            who = f"process {owner}" if owner.isdecimal() else "another process"
            raise ResumeError(f"{printable(os.fspath(path))} is in use by {who}") from None
        with suppress(FileNotFoundError):
            if os.stat(name).st_ino == os.fstat(handle).st_ino:
                break
        os.close(handle)  # its owner was just ending, and took the name away
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        sweep(path)
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
        os.close(handle)


def difference(then: dict[str, Any], now: dict[str, Any]) -> str | None:
    """The options that differ, in words; None if none does.

    >>> difference({"learner": "Perceptron()", "delta": 0.05}, {"learner": "Perceptron()", "delta": 0.1})
    'delta: 0.05 then, 0.1 now'
    """
    now = _plain(now)
    names = [name for name in [*then, *(new for new in now if new not in then)] if then.get(name) != now.get(name)]
    words = [f"{name}: {then.get(name)!r} then, {now.get(name)!r} now" for name in names]
    return "; ".join(words) or None


def _head(options: dict[str, Any], said: dict[str, Any] | None) -> dict[str, Any]:
    return {"format": FORMAT, "version": __version__, "options": pack(options, {}), "said": said or {}}


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = unpack(pack(options, {}), {})
    return found


def _check_version(content: dict[str, Any]) -> None:
    kinds = {"format": int, "version": str}
    for name, kind in kinds.items():
        if type(content.get(name)) is not kind:
            raise CheckpointError(f"damaged: its field {name!r} is missing or not what it should be")
    if (content.get("format"), content.get("version")) != (FORMAT, __version__):
        raise ResumeError(
            f"written by onepass {content.get('version')} (format {content.get('format')}), this is {__version__} "
            f"(format {FORMAT}): end the run with that version, or begin it anew"
        )

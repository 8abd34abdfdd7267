"""The files that a command writes: looked at before the run, and written so that nobody's work is lost.

    outputs = Outputs(paths, [model])                   # what is read
    page = outputs.check("--report", report, force)     # says now, not after an hour, why it could not be written
    ...
    if page is not None:
        with page.opened() as file:
            file.write(...)
    outputs.settle()                                    # refuses, at the end, what another process was faster with

An output is never what is read (data, model, config file), nor another output, by whatever name or link it goes, with
or without --force. Every command that writes asks here, and nowhere else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import click

from onepass.errors import DataError, OutputTakenError, printable
from onepass.files import replacing, sweep

STANDARD = "-"  # stdin where something is read, stdout where something is written
LEAST = 1 << 16  # bytes without which a disk counts as full
FIGURES = (".png", ".svg", ".pdf")
Key = tuple[int, int] | str


@dataclass
class Output:
    """One file that may be written."""

    option: str
    path: str
    overwrite: bool
    append: bool = False
    kept: str | None = None  # where the result is instead, since another process was faster

    @property
    def written(self) -> str:
        """Where the result went."""
        return self.kept or self.path

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Says in one line what goes wrong while the file is written; a result that came second is kept beside."""
        try:
            yield
        except OutputTakenError as error:
            self.kept = error.kept
        except OSError as error:
            place = "stdout" if self.path == STANDARD else printable(self.path)
            intact = "" if self.path == STANDARD or self.append else "; what was there before is intact"
            raise click.ClickException(f"cannot write to {place}: {error.strerror or error}{intact}") from None

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The file, to be written; it takes its place only when it is whole."""
        with self.writing(), replacing(self.path, overwrite=self.overwrite) as file:
            yield file

    def check_space(self, needed: int) -> None:
        """Refuse what will not fit, as soon as it is known how much that is."""
        folder = _folder(self.path)
        free = _free(folder)
        if free is not None and free < needed:
            raise click.UsageError(
                f"{self.option}: {printable(folder)} has {free:,} bytes left, and at least {needed:,} are needed"
            )


class Outputs:
    """The files that one command writes, held against what it reads: `data` may be globs, folders and lists."""

    def __init__(self, data: Iterable[str] = (), files: Iterable[str | None] = ()) -> None:
        self._data, self._files = tuple(data), (*files, _config_file())
        self._taken: dict[Key, str] | None = None  # file → what it is taken for
        self._checked: list[Output] = []

    def check(
        self,
        option: str,
        path: str | None,
        force: bool = False,
        *,
        append: bool = False,
        remedy: str = "--force overwrites it",
    ) -> Output | None:
        """The output, if one is wanted; a usage error where it could not be written."""
        if path is None:
            return None
        self.claim(option, path)
        output = Output(option, path, force, append and os.path.isfile(path))
        if path != STANDARD:
            _check_place(output, remedy)
        self._checked.append(output)
        return output

    def check_figures(self, folder: Path, names: Sequence[str], force: bool) -> list[Output]:
        """Figures and tables in the folder of --output, which is made if it is not there."""
        need_matplotlib()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.UsageError(f"--output: {str(folder)!r} cannot be made a folder ({error.strerror})") from None
        checked = [self.check("--output", str(folder / name), force) for name in names]
        return [output for output in checked if output is not None]

    def claim(self, option: str, path: str | None) -> None:
        """Refuse a file that is read, or that another option has."""
        key = None if not path else _key(path, 1)
        if key is None:
            return
        if self._taken is None:
            keys = [_key(file, 0) for file in (*_expanded(self._data), *filter(None, self._files))]
            self._taken = {known: "what is read" for known in keys if known is not None}
        if (other := self._taken.setdefault(key, option)) != option:
            place = "stdout" if path == STANDARD else printable(path or "")
            raise click.UsageError(f"{option}: {place} is {other}, too; give it a file of its own")

    def settle(self) -> None:
        """The end of the command: an error if a file that was not to be overwritten has come to be meanwhile."""
        taken = [OutputTakenError(output.path, output.kept) for output in self._checked if output.kept is not None]
        if taken:
            raise click.ClickException("; ".join(map(str, taken)) + " (--force overwrites)")


def need_matplotlib() -> None:
    """A usage error where figures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise click.UsageError("figures need matplotlib: pip install 'onepass[report]'")


def _check_place(output: Output, remedy: str) -> None:
    """Why a file could not be written here, as far as that can be known before."""
    option, path = output.option, output.path
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = 0
    except OSError as error:  # too long a name, links in a circle
        raise click.UsageError(f"{option}: {printable(path)}: {error.strerror}") from None
    if stat.S_ISDIR(mode):
        raise click.UsageError(f"{option}: {printable(path)} is a folder")
    if mode and not stat.S_ISREG(mode):  # a pipe or a device, to be written into
        return
    folder = _folder(path)
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        raise click.UsageError(f"{option}: the folder {printable(folder)} is not there or cannot be written to")
    if output.append and not os.access(path, os.W_OK):
        raise click.UsageError(f"{option}: {printable(path)} cannot be written to")
    if mode and not (output.overwrite or output.append):
        raise click.UsageError(f"{option}: {printable(path)} is there already; {remedy}")
    sweep(os.path.realpath(path))  # first, since it makes room
    output.check_space(LEAST)


def _folder(path: str) -> str:
    return os.path.dirname(os.path.realpath(path) if os.path.islink(path) else path) or "."


def _free(folder: str) -> int | None:
    """Bytes that this user may still write there, where the file system knows."""
    try:
        known = os.statvfs(folder)
    except OSError:
        return None
    blocks = known.f_bfree if os.geteuid() == 0 else known.f_bavail  # root may use the reserve
    return blocks * known.f_frsize if known.f_blocks else None


def _key(path: str, standard: int) -> Key | None:
    """What two paths to one file have in common: the file itself, or where there is none yet its full name.

    `standard` is the descriptor that - means. None: what is nobody's own, such as a terminal or /dev/null.
    """
    try:
        status = os.fstat(standard) if path == STANDARD else os.stat(path)
    except OSError:
        return None if path == STANDARD else os.path.realpath(path)
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
        return None
    return status.st_dev, status.st_ino


def _expanded(data: Iterable[str]) -> Iterator[str]:
    """All files that will be read, lists of files among them; what is wrong with them is said when they are read."""
    from onepass.io.sources import expand

    for path in data:
        yield path
        if path.startswith("@"):
            yield path[1:]
        try:
            yield from expand(path)
        except (DataError, OSError):
            continue


def _config_file() -> str | None:
    """What --config names, if a program with that option was started."""
    context = click.get_current_context(silent=True)
    path = None if context is None else context.find_root().params.get("config")
    return path if isinstance(path, str) else None

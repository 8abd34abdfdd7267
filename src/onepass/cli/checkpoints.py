"""Runs that can be stopped and gone on with: --checkpoint and --resume."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, cast

import click

from onepass.cli import inputs, terminal
from onepass.cli.options import Duration, option, options_of
from onepass.errors import CheckpointError, ModelError, ResumeError, printable

if TYPE_CHECKING:
    from onepass.checkpoints.checkpoint import Checkpoint, Resumable, WithOptions
    from onepass.cli.outputs import Outputs
    from onepass.io import Stream
    from onepass.io.position import Position
    from onepass.passes import Pass
    from onepass.race import Race

SHARE = 20  # times as long as a checkpoint took to write, at least, until the next: below 5 % of the time


@dataclass(frozen=True)
class Checkpointing:
    """Whether a run can be gone on with."""

    checkpoint: str | None = option(metavar="FILE", help="Keep the state of the run here, to go on from with --resume.")
    checkpoint_every: float = option(
        type=Duration(), default="10s", help="How often FILE is written; with --workers, at the end of each wave."
    )
    resume: bool = option(is_flag=True, help="Go on from the --checkpoint FILE, if it is there.")


options = options_of(Checkpointing, "Stopping and going on")


def claim(outputs: Outputs, path: str | None) -> None:
    """The files of a checkpoint are no other output, nor anything that is read."""
    for file in () if path is None else (path, f"{path}.prev", f"{path}.lock"):
        outputs.claim("--checkpoint", file)


def begin(
    checkpointing: Checkpointing, paths: tuple[str, ...], outputs: Outputs, force: bool, messages: terminal.Messages
) -> Checkpointer:
    """The checkpoint of this command, locked until the command ends, and what was found in it."""
    path, resume = checkpointing.checkpoint, checkpointing.resume
    checkpointer = Checkpointer(path, checkpointing.checkpoint_every, messages)
    if path is None:
        if resume:
            raise click.UsageError("--resume goes on from a checkpoint: add --checkpoint FILE")
        return checkpointer
    if "-" in paths:
        if resume:
            raise click.UsageError("--resume: stdin cannot be read again; save it to a file, or begin without --resume")
        checkpointer.give_up("stdin")
        return checkpointer
    from onepass.checkpoints import checkpoint

    outputs.check("--checkpoint", path, force=True)  # what is there is looked at below
    try:
        click.get_current_context().with_resource(checkpoint.locked(path))
        there = [file for file in (path, checkpoint.previous(path)) if os.path.exists(file)]
        if resume:
            checkpointer.again = True
            checkpointer.found, note = checkpoint.last(path)
            if checkpointer.found is not None:
                _check_said(checkpointer.found)
            if note is not None:
                messages.note(note)
            elif checkpointer.found is None:
                messages.note(f"{path} is not there yet: beginning with the first row")
        elif there and not force:
            raise click.UsageError(
                f"--checkpoint: {printable(there[0])} is there already; --resume goes on from it, --force begins anew"
            )
        else:
            for file in there:
                if not checkpoint.is_checkpoint(file):  # --force is no leave to remove somebody's data
                    raise click.UsageError(
                        f"--checkpoint: {printable(file)} is there, and is no checkpoint; remove it yourself"
                    )
                os.unlink(file)
    except ResumeError as error:
        raise click.UsageError(str(error)) from None
    except CheckpointError as error:
        raise CheckpointError(
            f"{error}. To begin anew, remove {printable(path)}, or --force without --resume"
        ) from None
    except OSError as error:
        raise click.UsageError(f"--checkpoint: {printable(error.filename)}: {error.strerror}") from None
    return checkpointer


def _check_said(found: Checkpoint) -> None:
    """Raise CheckpointError, naming the field, unless this is what a `Checkpointer` says beside the state of a pass."""
    said = found.said
    quarantine, history, result = said.get("quarantine"), said.get("history", []), said.get("result")
    sound = {
        "reading": isinstance(said.get("reading", {}), dict),
        "quarantine": quarantine is None or isinstance(quarantine, str),
        "history": isinstance(history, list) and all(map(_is_look, history)),
    }
    if found.state is None:  # a note that the run has ended
        sound["result"] = isinstance(result, dict) and {"output", "risk"} <= set(result)
        sound["text"] = isinstance(said.get("text"), str)
        if sound["result"]:
            output, risk = said["result"]["output"], said["result"]["risk"]
            sound["result.output"] = output is None or isinstance(output, str)
            sound["result.risk"] = risk is None or isinstance(risk, float)
    for name, fine in sound.items():
        if not fine:
            raise CheckpointError(f"damaged: its field 'said.{name}' is missing or not what it should be")


def _is_look(look: object) -> bool:
    """Whether this is what `onepass.history` remembers of one look at a run: seven numbers, some of which may lack."""
    kinds = (int, float, type(None))
    return isinstance(look, list) and len(look) == 7 and all(type(part) in kinds for part in look)


class Checkpointer:
    """Writes a run's checkpoints, in good time; does nothing where there is no path."""

    def __init__(self, path: str | None, every: float, messages: terminal.Messages) -> None:
        self.path, self.every, self.messages = path, every, messages
        self.shown = printable(path or "")  # in messages
        self.again = False  # whether this may be a later start of the same command
        self.found: Checkpoint | None = None  # what there was to resume
        self.written, self.spent = 0, 0.0  # checkpoints, and seconds it took to write them
        self.sync: Callable[[], None] = lambda: None  # brings to disk what the checkpoint takes for granted
        self.looks: Callable[[], list[list[Any]]] = list  # what was seen so far of a run that is watched for its page
        self.names: Callable[[], tuple[Any, ...]] = tuple  # of features met so far
        self._start = time.perf_counter()
        self.due = self._start + every  # when the next is to be written
        self._position: Position | None = None
        self._rows = 0  # rows of the pass that the file on disk holds
        self._said: terminal.Record = {}
        self._trouble = ""

    def give_up(self, what: str) -> None:
        """Say at the start what cannot be resumed, and write nothing."""
        self.messages.note(f"{what} cannot be read again: this run cannot be resumed, and no checkpoint is written")
        self.path = None

    @property
    def position(self) -> Position | None:
        """Where the stream goes on."""
        return self.found.position if self.found is not None else None

    def opening(self, quarantine: str) -> tuple[IO[bytes] | None, Position | None]:
        """(the file for bad lines, if one is named, with those of before; where the stream goes on)."""
        position = self.position
        if not quarantine:
            return None, position
        if self.found is None or position is None or self.found.said.get("quarantine") != os.path.abspath(quarantine):
            if self.again and self.found is None and os.path.exists(quarantine):  # a start that was killed early
                self.messages.note(
                    f"{quarantine} is there, and no checkpoint tells of it: it is now {_moved(quarantine)}"
                )
            file: IO[bytes] = open(quarantine, "xb")  # noqa: SIM115 - the caller closes it
            position = position and position._replace(quarantined=0)
        else:
            file = open(quarantine, "r+b")  # noqa: SIM115 - the caller closes it
            if os.fstat(file.fileno()).st_size < position.quarantined:
                raise ResumeError(f"{printable(quarantine)} is shorter than it was, {position.quarantined:,} bytes")
            file.truncate(position.quarantined)  # what was written after the checkpoint comes again
            file.seek(position.quarantined)
        self.sync = lambda: _to_disk(file)
        return file, position

    def restore(self, run: WithOptions, reading: inputs.Reading) -> None:
        """Bring the pass to where it was; other options are a usage error that names them."""
        self._said = {"reading": json.loads(json.dumps(reading.fixed))}
        self._said["quarantine"] = os.path.abspath(reading.quarantine) if reading.quarantine else None
        if self.found is None:
            return
        from onepass.checkpoints.checkpoint import difference

        try:
            differs = difference(self.found.said.get("reading", {}), self._said["reading"])
            if differs is None and self.found.state is None:
                differs = difference(self.found.options, run.options)
            if differs is not None:
                raise ResumeError(differs)
            if self.found.state is not None:
                run = cast("Resumable", run)
                self.found.restore(run)
                self._position, self._rows = self.found.position, run.rows
                self.messages.note(f"going on from {self.path} after {run.rows:,} rows")
        except ResumeError as error:
            raise click.UsageError(
                f"--resume: {self.shown} holds another run. {error}. Resume with the options of then, or begin anew "
                "with another --checkpoint"
            ) from None
        except CheckpointError as error:
            raise CheckpointError(f"{self.shown}: {error}") from None

    @property
    def history(self) -> list[list[Any]]:
        """What was seen of the run before it was stopped, if it was watched."""
        return self.found.said.get("history", []) if self.found is not None else []

    @property
    def raced(self) -> tuple[str, ...]:
        """The entries of the run that was to be resumed, if it was a race."""
        return tuple(self.found.options.get("race", ())) if self.found is not None else ()

    @property
    def finished(self) -> bool:
        """Whether the run that was to be resumed had ended."""
        return self.found is not None and self.found.state is None

    def result(self, paths: tuple[str, ...], output: str | None) -> tuple[terminal.Record, str]:
        """(result, its text) of a run that had ended; a usage error if it is not what is asked for now."""
        from onepass.io.position import files_differ
        from onepass.io.sources import expand, identify

        assert self.found is not None
        files = expand(paths)
        differs = self.position and files_differ(self.position, files, [identify(file) for file in files])
        if differs:
            raise click.UsageError(f"--resume: {self.shown} holds another run. {differs}")
        result, anew = self.found.said["result"], f"remove {self.shown} to train anew"
        if output != result["output"]:
            raise click.UsageError(
                f"--resume: the run in {self.shown} is finished (--output {terminal.name(result['output'])}); {anew}"
            )
        if output is not None and not os.path.exists(output):
            raise click.UsageError(f"--resume: the run is finished, but its model {printable(output)} is gone; {anew}")
        self.messages.note(f"{self.path}: this run is finished; this is what it gave")
        return result, self.found.said["text"]

    def wrote(self, output: str | None) -> bool:
        """Whether the model there may be the run's own: it was killed after writing it and before saying so."""
        from onepass import model_files

        if self.position is None or output is None:
            return self.finished
        try:
            content, _ = model_files.read(output)
        except (OSError, ModelError):
            return False
        data = inputs.identities(self.position.identity)
        return bool(content["about"].get("data") == data)

    def look_at(self, stream: Stream) -> None:
        """What cannot be read again is not worth a checkpoint."""
        self.names = lambda: () if stream.feature_names is None else tuple(stream.feature_names.arrays().values())
        if self.path is not None and not stream.rereadable:
            self.give_up(next(path for path, known in zip(stream.paths, stream.identity, strict=True) if known is None))

    def fed(self, run: Pass | Race, stream: Stream) -> None:
        """The chunk at hand was learned: remember where that is, and write it if it is time."""
        if self.path is not None:
            self._position = stream.position
            if time.perf_counter() >= self.due:
                self.save(run)

    def wave_done(self, run: Resumable, position: Position) -> None:
        """Several workers have ended a wave: write what all of them have come to."""
        self._position = position
        self.save(run)

    def save(self, run: Resumable) -> None:
        """Write a checkpoint. Where that fails the run goes on, and the last one stays."""
        from onepass.checkpoints import checkpoint

        if self.path is None or self._position is None or run.rows == self._rows:
            return
        start = time.perf_counter()
        try:
            self.sync()
            names = self.names()
            position = self._position._replace(names=names) if names else self._position
            checkpoint.save(self.path, run, position, self._said | {"history": self.looks()})
            self.written, self._rows, self._trouble = self.written + 1, run.rows, ""
        except OSError as error:
            self._warn(str(error.strerror or error))
        took = time.perf_counter() - start
        self.spent += took
        self.due = time.perf_counter() + max(self.every, SHARE * took)
        if self.messages.as_jsonl and not self._trouble:
            terminal.print_json({"event": "checkpoint", "rows": run.rows, "seconds": round(took, 6)})

    def rescue(self, run: Pass | Race) -> None:
        """The run cannot go on as it is; with other options for bad lines it can, from here."""
        self.save(run)
        if self.path is not None and self._rows:
            how = "--resume goes on from there, for instance with --on-error skip"
            self.messages.note(f"{self.path} holds the {self._rows:,} rows before the error: {how}")

    def _warn(self, why: str) -> None:
        if why != self._trouble:
            held = f"it holds {self._rows:,} rows" if self._rows else "there is none yet"
            terminal.echo(f"onepass: no checkpoint could be written to {self.shown}: {why} ({held})", err=True)
        self._trouble = why

    def finish(self, run: WithOptions, result: terminal.Record, text: str) -> None:
        """The run has ended: the checkpoint becomes a note that says so."""
        if self.path is None:
            return
        from onepass.checkpoints import checkpoint

        if self.written:
            share = self.spent / (time.perf_counter() - self._start)
            self.messages.note(f"{self.written} checkpoints, {self.spent:.2f} s ({share:.1%}) spent writing them")
        try:
            checkpoint.finish(self.path, run, self._position, self._said | {"result": result, "text": text})
        except OSError as error:
            self._warn(str(error.strerror or error))

    def how_to_go_on(self) -> str | None:
        """The command that resumes this run, if there is something to resume."""
        if self.path is None or not self._rows:
            return None
        program = (
            ["onepass"] if os.path.basename(sys.argv[0]) != "__main__.py" else [sys.executable, "-m", "onepass.cli"]
        )
        arguments = [text for text in sys.argv[1:] if text != "--resume"]
        return printable(shlex.join([*program, *arguments, "--resume"]))


def _moved(path: str) -> str:
    """The file's new name: its own with a number, which no other file has."""
    free = next(name for number in itertools.count(1) if not os.path.lexists(name := f"{path}.{number}"))
    os.rename(path, free)
    return free


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())

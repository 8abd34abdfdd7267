"""Feeding a stream to a pass: with a bar, until it ends or a signal comes, and checkpoints where those are kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import click

from onepass.cli import checkpoints, inputs, kernels, signals, terminal
from onepass.cli.options import Arguments
from onepass.cli.spelling import words
from onepass.cli.training import LocalTraining, as_options
from onepass.errors import CheckpointError, OnepassError
from onepass.training import judge, narrow

if TYPE_CHECKING:
    from onepass.io import Chunk, Stream
    from onepass.io.chunk import Labels
    from onepass.passes import Pass
    from onepass.race import Race


class Feeding(Protocol):
    """What rows are fed to: a pass, a watched one, or several."""

    @property
    def classes(self) -> tuple[Any, ...]: ...

    @property
    def options(self) -> Arguments: ...

    def feed(self, rows: Any, labels: Any) -> None: ...


def feed(
    run: Pass | Race,
    stream: Stream,
    reading: inputs.Reading,
    messages: terminal.Messages,
    checkpointer: checkpoints.Checkpointer | None = None,
    look: Callable[[Chunk], None] | None = None,
    history: Feeding | None = None,
) -> LocalTraining:
    """Feed the whole stream; Ctrl-C or SIGTERM ends it after the chunk at hand, with a checkpoint if those are kept.

    `look` may look at each chunk before it is learned, and object. `history` watches the run.
    """
    trained = LocalTraining(run, stream)
    told = kernels.are_missing(type(run.learner).__name__)  # then it was said when the program began
    patience = kernels.Patience(messages)
    checkpointer = checkpointer or checkpoints.Checkpointer(None, 0.0, messages)
    with signals.gate(messages.quiet) as gate:
        try:
            with terminal.bar(stream.total_bytes, messages) as tick:
                while not run.stopped and (chunk := next(stream, None)) is not None:
                    if look is not None:
                        look(chunk)
                    if not told:  # from the first chunk on; before it one waits for who sends it
                        patience.begin()
                    with gate.waiting():
                        began = time.perf_counter()
                        feed_chunk(history or run, stream, chunk)
                        trained.learning += time.perf_counter() - began
                        narrow(run, stream)
                        checkpointer.fed(run, stream)
                    patience.end()
                    inputs.check_bad(stream, reading)
                    tick(stream.consumed, trained.note, trained.facts)
                inputs.check_bad(stream, reading, at_the_end=not run.stopped)
        except KeyboardInterrupt:
            trained.interrupted, trained.status = True, gate.status
            checkpointer.save(run)
        except CheckpointError:  # the place to go on from is none: there is nothing to rescue
            raise
        except OnepassError:
            checkpointer.rescue(run)
            raise
        finally:
            patience.end()
    trained.stopped = run.stopped
    judge(run, stream)
    return trained


CLASSES = 50  # that a message names


def feed_chunk(run: Feeding, stream: Stream, chunk: Chunk) -> None:
    """Feed one chunk; what is wrong with it is said by its file and line."""
    from onepass.errors import ConversionError, DataError, advises

    labels = chunk.labels
    if labels is None:
        raise DataError("no labels to learn from", source=chunk.origin.path, remedy="--target names the label's column")
    try:
        run.feed(chunk.rows, labels)
    except DataError as error:
        raise stream.located(error, _remedy(run, labels) if advises(error.remedy, "classes") else None) from None
    except ConversionError as error:  # --positive names no label that is there
        raise click.UsageError(as_options(words(error), run.options)) from None


def _remedy(run: Feeding, labels: Labels) -> str:
    """What to do about a label that may not join."""
    met = {inputs.label_text(label) for label in labels.tolist()} | {inputs.label_text(c) for c in run.classes}
    return f"--classes {','.join(sorted(met)) if len(met) <= CLASSES else 'with all labels'}"

"""`onepass verify`: is this model file intact, and does it come from this data?"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import click
import numpy as np

from onepass.cli import feeding, inputs, kernels, terminal, training
from onepass.cli.options import Sectioned

if TYPE_CHECKING:
    from onepass.passes import Pass


@click.command("verify", cls=Sectioned)
@click.argument("model", type=click.Path())
@click.argument("paths", nargs=-1, metavar="[FILE]...", type=click.Path())
@inputs.options
@terminal.message_options
def command(model: str, paths: tuple[str, ...], reading: inputs.Reading, messages: terminal.Messages) -> None:
    """Check the hash of a model file; with FILE..., learn from them once more and compare bit for bit.

    The second pass takes learner, options and reading from the model file, so that weights and certificate must come
    out the same; of a race it repeats the entry that was deployed. The hash finds accidents, the second pass also finds
    what was changed on purpose.

    \b
    Examples:
      onepass verify model.safetensors
      onepass verify model.safetensors data.svm.gz

    Exit codes: 0 all is the same, 3 the data is not what the model was trained on, 4 the model is not what this data
    gives.
    """
    from onepass.errors import ModelError
    from onepass.model_files import read
    from onepass.models import LinearModel
    from onepass.standings import best_of
    from onepass.tables.plan import TablePlan

    with terminal.opening(model):
        said, arrays = read(model)
    weights = arrays["weights"]
    result: terminal.Record = {"command": "verify", "sha256": said["sha256"], "file": "intact"}
    if not paths:
        messages.result(result, lambda: f"{terminal.name(model)}: intact, SHA-256 {said['sha256']}")
        return
    about = said["about"]
    run = _repeated(said)
    kept = about.get("reading")
    if isinstance(kept, dict) and kept.get("on_error") == "skip" and reading.on_error == "stop":
        reading = replace(reading, on_error="skip")
    table = None if said.get("table") is None else TablePlan.from_dict(said["table"])
    with inputs.opened(paths, reading, inputs.recall(kept, table, len(weights) - 1, reading)) as stream:
        kernels.tell_if_missing(messages, type(run.learner).__name__)
        feeding.feed(run, stream, reading, messages)
        data = inputs.identities(stream.identity)
    named = about.get("data")  # None: the model was made of rows in memory
    same_data = None if named is None else json.loads(json.dumps(data)) == named
    again = cast(LinearModel, run.model())
    curve = None if again.calibration is None else again.calibration.as_dict()
    same_weights = np.array_equal(again.weights, weights) and (again.cut, curve) == (said["cut"], said["calibration"])
    own = best_of(run.certificate(), entries) if (entries := _entries(about)) > 1 else run.certificate()
    same_certificate = _claims(own.as_dict(), about) == _claims(about.get("certificate"), about)
    result |= {"same_data": same_data, "same_weights": same_weights, "same_certificate": same_certificate}
    words = {True: "the same", False: "NOT the same", None: "not named in the file"}
    messages.result(
        result,
        lambda: (
            f"{terminal.name(model)}: intact, SHA-256 {said['sha256']}\n"
            f"data: {words[same_data]}; weights: {words[same_weights]}; certificate: {words[same_certificate]}"
        ),
    )
    if not (same_weights and same_certificate):
        if same_data is False:
            raise SystemExit(3)
        raise ModelError(
            f"{terminal.name(model)}: this data gives another model, with the learner and the options "
            "that the file names"
        )


def _claims(certificate: object, about: terminal.Record) -> object:
    """A certificate as a file has it; workers keep no update rows, where one pass may, and both claim the same."""
    known = json.loads(json.dumps(certificate))
    if "scale" in about and isinstance(known, dict):
        known.pop("compacted", None)
    return known


def _entries(about: terminal.Record) -> int:
    """How many entries the race had that the model has won; 1: there was none."""
    entries = (about.get("certificate") or {}).get("entries", 1)
    return entries if type(entries) is int else 1


def _share(about: terminal.Record) -> float | None:
    """What the entry that was deployed had of δ."""
    race = about.get("race")
    if not isinstance(race, dict):
        return None
    return next((one["delta"] for one in race.get("entries", []) if one.get("name") == race.get("deployed")), None)


def _repeated(said: terminal.Record) -> Pass:
    """A pass with the learner and the options that the file names."""
    from onepass.errors import ModelError
    from onepass.learners import NAMES

    about = said["about"]
    scale = about.get("scale")
    if isinstance(scale, dict) and scale.get("chunks") != 1:
        raise ModelError(
            f"it was merged from {scale.get('chunks')} chunks on several workers, and this command repeats one pass: "
            "the command that made it, run again, gives the same bits on any number of workers"
        )
    names = [name for name, known in NAMES.items() if repr(known) == about.get("learner")]
    certificate, options = about.get("certificate"), about.get("options")
    if not names or not isinstance(certificate, dict) or not isinstance(options, dict):
        raise ModelError("the file does not name a learner and options that this command could repeat")
    chosen = {name: certificate.get(name) for name in ("conversion", "delta", "bound", "loss")}
    chosen["loss"] = None if chosen["loss"] == "cost" else chosen["loss"]  # it follows from the option of that name
    if _entries(about) > 1:
        chosen["delta"] = _share(about)
    if options.get("on_drift") == "restart":  # the certificate has a share of what was declared
        del chosen["delta"]
    declared = about.get("classes", said["classes"])
    classes = declared if isinstance(declared, list) and len(declared) > 1 else None
    try:
        run: Pass = training.make({"learner": names[0], "classes": classes, **options, **chosen})
        return run
    except click.UsageError as error:  # nobody said these options on the command line
        raise ModelError(f"its field 'about.options' or 'about.certificate' is wrong: {error.message}") from None

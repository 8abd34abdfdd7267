"""What a training gives, what a model remembers of how its rows were read, and both in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from onepass.errors import label_text

if TYPE_CHECKING:
    from onepass.certificates import Certificate
    from onepass.certified import Certified
    from onepass.models import LinearModel
    from onepass.passes import Pass
    from onepass.race import Race
    from onepass.standings import Standings
    from onepass.tables.feature_names import FeatureNames
    from onepass.tables.plan import TablePlan

KEPT = (  # how rows were read, as far as a model remembers it, so that others are read alike
    *("bins", "cross", "bits", "target", "text_column", "categorical", "numeric", "text", "date", "ignore"),
    *("header", "delimiter", "missing", "zero_based", "unsorted", "duplicates", "width"),
)
OF_FILES = ("header", "width", "delimiter", "on_error")  # what it remembers of a table beside its columns


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """What a training gives: the model, its certificate, and how they came about. `str()` is a summary.

    Attributes
    ----------
    model : LinearModel
        It predicts, and can be saved.
    certificate : Certificate
        Of this model.
    run : Pass or Race
        The pass, which can go on, convert and be asked.
    table : TablePlan or None, default None
        What the columns are; None where the source is no table.
    notes : tuple of str, default ()
        What a user should know of the source.
    skipped : int, default 0
        Bad lines left out, by on_error="skip".

    Examples
    --------
    >>> import pyarrow
    >>> from onepass import train
    >>> table = pyarrow.table({"size": [1.0, -1.0] * 200, "good": ["yes", "no"] * 200})
    >>> result = train(table, target="good", numeric=["size"])
    >>> result.run.rounds, result.table.lines(), result.race
    (400, ['numbers: size'], None)
    """

    model: LinearModel
    certificate: Certificate
    run: Pass | Race
    table: TablePlan | None = None
    notes: tuple[str, ...] = ()
    skipped: int = 0

    @property
    def race(self) -> dict[str, Any] | None:
        """The entries that raced, each with its certificate, and when and why it was dropped; None: there was none."""
        return self.model.about.get("race")

    def __str__(self) -> str:
        remarks = [f"left out {self.skipped:,} bad lines"] if self.skipped else []
        if self.run.stopped:
            remarks.append("stopped: the certified risk has reached stop_at")
        if self.race is not None:
            from onepass.standings import race_lines

            remarks += race_lines(self.race)
        return "\n".join(summary(self.run, self.certificate, self.table, self.model.names, remarks))

    def __repr__(self) -> str:
        return f"<TrainingResult of {self.run!r}>"


def table_of(run: Any, table: TablePlan | None) -> TablePlan | None:
    """What the columns are for the model: a race may deploy a narrower encoding than it read."""
    own: TablePlan | None = run.table_of(table) if hasattr(run, "table_of") else table
    return own


def remembered(given: Mapping[str, Any], stream: Any) -> dict[str, Any]:
    """How the rows of a stream were read with the options given, for a model: with it others are read alike."""
    kept = {name: value for name, value in {**given, **stream.decided}.items() if name in KEPT}
    if stream.skipped:
        kept["on_error"] = "skip"
    if stream.table is not None:  # what the columns are stands in the model's own plan
        kept = {name: value for name, value in kept.items() if name in OF_FILES}
    return {"format": stream.format, **kept}


def features_met(table: TablePlan, names: FeatureNames | None) -> int | None:
    """How many features the rows of a table had; None where there are too many to remember."""
    return None if names is None or names.full else len(table.numbers) + names.count


def summary(
    run: Certified | Standings,
    certificate: Certificate,
    table: TablePlan | None,
    names: FeatureNames | None,
    remarks: list[str],
) -> list[str]:
    """What came out, in lines for people."""
    from onepass.certificates import rate_table

    learned = cast("Pass", run)
    classes = ", ".join(label_text(label) for label in learned.classes)
    extent = f"{learned.width:,} features"
    if table is not None:
        met = features_met(table, names)
        many = "more than a million" if met is None else f"{met:,}"
        extent = f"{len(table.columns):,} columns, {many} features met"
    lines = [
        f"{learned.rows:,} rows, {extent}, labels {classes}",
        f"{learned.learner!r}: {learned.mistakes:,} mistakes in {learned.rounds:,} rounds",
        *remarks,
        str(certificate),
    ]
    if certificate.rates is not None:
        lines += ["", *rate_table.lines(certificate.rates)]
    return lines

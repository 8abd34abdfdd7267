"""onepass: one pass over the data, one model, one certificate.

This module is a table of contents: each public name is imported from its room when it is first used, so that
`import onepass` costs next to nothing.
"""

from __future__ import annotations

from onepass._exports import exported

TYPE_CHECKING = False  # to import typing takes longer than all of this, and Ctrl-C may come meanwhile
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.2.0"

_HOME = {
    "Certificate": "certificates",
    "CheckpointError": "errors",
    "ConversionError": "errors",
    "CutoffAverager": "averager",
    "DataError": "errors",
    "LimitError": "errors",
    "LinearModel": "models",
    "ModelError": "errors",
    "Monitor": "monitoring",
    "OnePassClassifier": "estimator",
    "OnepassError": "errors",
    "OutputTakenError": "errors",
    "Pass": "passes",
    "ScaleError": "errors",
    "SmoothThresholdClassifier": "smooth.estimator",
    "ResumeError": "errors",
    "StoppedError": "errors",
    "TableEncoder": "encoder",
    "Trace": "trace",
    "TrainingResult": "training_result",
    "VotedModel": "voted",
    "certify": "certificates",
    "combine": "trace",
    "load": "voted",
    "merge": "trace",
    "regret": "regret_bound",
    "train": "training",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    return exported(__name__, _HOME, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

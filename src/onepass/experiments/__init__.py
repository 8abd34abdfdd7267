"""The experiments of dekel2008, Section 4, on RCV1, on a file of your own, or on the built-in newswire.

Read in this order: corpus (documents and pairs of categories), protocol (one pass, paused), study (all passes, and what
they show together).
"""

from onepass.experiments.corpus import Corpus, Problem, newswire, pairs, read
from onepass.experiments.protocol import LEARNERS, Design, Paused, pauses, run
from onepass.experiments.study import Curves, Study, study

__all__ = [
    "LEARNERS",
    "Corpus",
    "Curves",
    "Design",
    "Paused",
    "Problem",
    "Study",
    "newswire",
    "pairs",
    "pauses",
    "read",
    "run",
    "study",
]

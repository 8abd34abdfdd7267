"""What a pass leaves behind: evidence (the tally of its losses) and hypotheses (the log of its updates, or the columns
it became)."""

from onepass.trace.evidence import CandidateLosses, Evidence, SettledCutoff, Survivor, Terms, Updates
from onepass.trace.hypotheses import CompactedMembers, Hypotheses, SumSoFar
from onepass.trace.merging import merge
from onepass.trace.trace import Trace, combine
from onepass.trace.watched import WatchedEvidence

__all__ = [
    "CandidateLosses",
    "CompactedMembers",
    "Evidence",
    "Hypotheses",
    "SettledCutoff",
    "SumSoFar",
    "Survivor",
    "Terms",
    "Trace",
    "Updates",
    "WatchedEvidence",
    "combine",
    "merge",
]

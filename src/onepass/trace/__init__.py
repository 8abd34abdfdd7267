"""What a pass leaves behind: the log of its updates, or the columns it became, and the tally of its losses."""

from onepass.trace.trace import Candidates, Counted, Survivor, Terms, Trace, combine, merge, weigh

__all__ = ["Candidates", "Counted", "Survivor", "Terms", "Trace", "combine", "merge", "weigh"]

"""What a pass leaves behind: the log of its updates, or the columns it became, and the tally of its losses."""

from onepass.trace.trace import Candidates, Survivor, Terms, Trace, combine, merge

__all__ = ["Candidates", "Survivor", "Terms", "Trace", "combine", "merge"]

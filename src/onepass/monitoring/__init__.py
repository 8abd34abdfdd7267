"""A deployed model against its certificate: is what was certified still true of the rows that come?"""

from onepass.monitoring.monitor import Monitor
from onepass.monitoring.result import ClaimResult, MonitorResult, ScoresResult

__all__ = ["ClaimResult", "Monitor", "MonitorResult", "ScoresResult"]

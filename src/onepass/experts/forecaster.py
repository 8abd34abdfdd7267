"""The one protocol: predict, update, run. Each rule fills in its game and its bound."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from onepass.errors import DataError
from onepass.experts.advice import Advice
from onepass.experts.mixture import Mixture
from onepass.experts.rates import Doubling, epoch
from onepass.experts.run import RoundLog, Run
from onepass.experts.votes import Rule as VoteRule
from onepass.experts.votes import Votes
from onepass.rows import Floats, Ints

CELLS = 1 << 23  # rounds × experts that a kernel plays before it lets Ctrl-C through


class Forecaster(ABC):
    """Predicts with the advice of N experts and never does much worse than the best of them.

    `run` plays whole matrices and goes on from where the last call ended: two halves give the same as the whole.
    """

    options: ClassVar[tuple[str, ...]]  # the constructor's arguments
    title: ClassVar[str]

    def __init__(self) -> None:
        self.rounds = 0
        self._realised = 0  # mistakes of a learner that draws its predictions
        self._game: Any = None

    # What a rule fills in

    @abstractmethod
    def _rule(self, experts: int, rounds: int) -> Any:
        """The rule that holds after so many rounds."""

    @abstractmethod
    def _advice(self, advice: npt.ArrayLike, awake: npt.ArrayLike | None) -> Advice:
        """Checked advice."""

    @abstractmethod
    def _outcomes(self, outcomes: npt.ArrayLike | None, rounds: int) -> npt.NDArray[Any]:
        """Checked outcomes."""

    @abstractmethod
    def _forecast(self, game: Any, advice: Advice) -> float:
        """The prediction for one row of advice."""

    @abstractmethod
    def _bounds(self, rounds: Ints, best: Floats) -> Any:
        """What the learner's loss cannot exceed after so many rounds, the best expert having lost `best`."""

    @property
    @abstractmethod
    def mistakes(self) -> int | None:
        """Mistakes made so far; None where outcomes are not 0 or 1."""

    @property
    def _restarts(self) -> bool:
        return any(isinstance(getattr(self, name), Doubling) for name in self.options)

    def _realise(self, outcomes: npt.NDArray[Any], forecasts: Floats) -> int:
        """Mistakes in the rounds just played, for a learner that draws its predictions."""
        return 0

    # What everyone uses

    def predict(self, advice: npt.ArrayLike, *, awake: npt.ArrayLike | None = None) -> float:
        """The prediction for one row of advice; nothing changes."""
        row = self._advice(np.asarray(advice)[None], None if awake is None else np.asarray(awake)[None])
        return self._forecast(self._ready(row), row)

    def update(self, advice: npt.ArrayLike, outcome: Any = None, *, awake: npt.ArrayLike | None = None) -> None:
        """Plays one round."""
        self.run(
            np.asarray(advice)[None],
            None if outcome is None else np.asarray(outcome)[None],
            awake=None if awake is None else np.asarray(awake)[None],
        )

    def run(
        self,
        advice: npt.ArrayLike,
        outcomes: npt.ArrayLike | None = None,
        *,
        awake: npt.ArrayLike | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Run:
        """Plays a round for each row of advice, and tells how it went.

        Everything is checked before anything is learned. `progress` is called with the rounds done, now and then.
        """
        rows = self._advice(advice, awake)
        truth = self._outcomes(outcomes, len(rows.values))
        game = self._game = self._ready(rows)
        start, (rounds, experts) = self.rounds, rows.values.shape
        log = RoundLog.empty(start, rounds, experts)
        first = 0
        while first < rounds:
            last = min(rounds, first + max(1, CELLS // experts))
            if self._restarts:
                last = min(last, first + epoch(self.rounds)[1])
            part = log.part(first, last)
            game.play(Advice(rows.values[first:last], rows.asleep[first:last]), truth[first:last], part)
            self._realised += self._realise(truth[first:last], part.forecasts)
            self.rounds += last - first
            if self._restarts and epoch(self.rounds)[0] == epoch(self.rounds)[1]:
                game.restart(self._rule(experts, self.rounds))
            first = last
            if progress is not None:
                progress(first)
        count = np.arange(start + 1, self.rounds + 1)
        return Run(
            rule=self.title,
            rounds=self.rounds,
            mistakes=self.mistakes,
            expert_losses=game.expert_losses.copy(),
            forecasts=log.forecasts,
            losses=log.losses,
            best_losses=log.best,
            bounds=self._bounds(count, log.pivots) if experts > 1 else log.pivots,
            times=log.due + start,
            weights=log.weights,
        )

    @property
    def weights(self) -> Floats:
        """The experts' weights in the coming round; they sum to 1."""
        self._started("weights")
        weights: Floats = self._game.weights
        return weights

    def state(self) -> dict[str, Any]:
        """All that is needed to go on elsewhere: plain numbers, text and arrays (they fit np.savez).

        >>> from onepass.experts import Hedge
        >>> first, second = Hedge(), Hedge()
        >>> _ = first.run([[0.0, 1.0]])
        >>> second.restore(first.state())
        >>> second.rounds
        1
        """
        self._started("state()")
        arrays = {name: array.copy() for name, array in self._game.state._asdict().items()}
        counts = {"experts": self._game.expert_losses.size, "rounds": self.rounds, "realised": self._realised}
        return {"forecaster": repr(self), **counts, **arrays}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from `state`, to the bit. The forecaster must have been made with the same arguments."""
        if str(state["forecaster"]) != repr(self):
            raise ValueError(f"state: it is of {state['forecaster']}, this is {self!r}; make one with those arguments")
        game = self._begin(int(state["experts"]), int(state["rounds"]))
        for name, array in game.state._asdict().items():
            given = np.asarray(state[name])
            if given.shape != array.shape or given.dtype != array.dtype:
                raise ValueError(f"state: {name} must be {array.dtype} of shape {array.shape}")
            array[:] = given
        self._game, self.rounds, self._realised = game, int(state["rounds"]), int(state["realised"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.options)})"

    def _begin(self, experts: int, rounds: int) -> Votes | Mixture:
        """A new game, with the rule that holds after so many rounds."""
        rule = self._rule(experts, rounds)
        return (Votes if isinstance(rule, VoteRule) else Mixture)(rule, experts)

    def _ready(self, rows: Advice) -> Any:
        """The game, or a new one for as many experts as `rows` has."""
        experts = rows.values.shape[1]
        if self._game is None:
            return self._begin(experts, rounds=0)
        known = self._game.expert_losses.size
        if experts != known:
            raise DataError(f"advice: {experts} experts, but {known} in the rounds before; make a new forecaster")
        return self._game

    def _started(self, what: str) -> None:
        if self._game is None:
            raise ValueError(f"{what}: no round has been played yet; call run or update first")

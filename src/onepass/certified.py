"""What has learned and can be asked: for a certificate, and for the model that it speaks of.

One face for a pass and for what several machines leave behind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from onepass.certificates import Certificate, Target, Threshold
from onepass.certificates.deployed import threshold_of
from onepass.conversions import conversion_named
from onepass.errors import ConversionError
from onepass.models import LinearModel
from onepass.trace import Evidence
from onepass.voted import VotedModel


class Question(NamedTuple):
    """What a certificate is asked for."""

    conversion: str
    delta: float
    bound: str
    loss: str | None


class Certified(ABC):
    """`certificate` and `model`, as declared unless told otherwise."""

    conversion: str
    delta: float
    bound: str
    loss: str | None
    rounds: int

    @property
    def delta_share(self) -> float:
        """What certificates given now have of the δ that is asked for."""
        return 1.0

    def certificate(
        self,
        conversion: str | None = None,
        *,
        delta: float | None = None,
        bound: str | None = None,
        loss: str | None = None,
    ) -> Certificate:
        """The certificate of a conversion, as declared unless told otherwise. Valid at every round at once.

        It carries the choice (a cutoff, a candidate) that is best for these arguments: `model(certificate)`, or `model`
        with the same arguments, deploys just that. Where it is not the choice of `model()`, the certificate says so.
        """
        self._must_be_sound()
        return self._answer(self._question(conversion, delta, bound, loss))

    def model(
        self,
        choice: str | Certificate | None = None,
        *,
        delta: float | None = None,
        bound: str | None = None,
        loss: str | None = None,
        how: str = "combine",
    ) -> LinearModel | VotedModel:
        """The model of a conversion: its weighted average (`combine`) or its members' weighted majority (`vote`).

        `choice` is a conversion, with the other arguments of `certificate`, or a certificate that was given since the
        last row: then the model is the one that it speaks of.
        """
        if how not in ("combine", "vote"):
            raise ValueError(f"how: 'combine' or 'vote' expected, got {how!r}")
        self._must_have_learned()
        self._must_be_sound()
        if isinstance(choice, Certificate):
            certificate = self._as_given(choice)
        else:
            certificate = self._answer(self._question(choice, delta, bound, loss))
        return self._deploy(certificate, how)

    def threshold_for(self, target: Target) -> Threshold:
        """Where to cut the scores of the deployed model so that it keeps this target; see `Target.declared`."""
        evidence, certificate = self._evidence_now(), self.certificate()
        if not conversion_named(certificate.conversion).watched or not certificate.choice.value:
            raise ConversionError("a threshold is found on the scores of a watched model: choose conversion='frozen'")
        return threshold_of(evidence, certificate.choice.value, target, self.delta * self.delta_share)

    def _question(
        self,
        conversion: str | None = None,
        delta: float | None = None,
        bound: str | None = None,
        loss: str | None = None,
    ) -> Question:
        if delta is not None and not 0.0 < delta < 1.0:  # a share of it might look right
            raise ValueError(f"delta: a number between 0 and 1 expected, got {delta!r}")
        return Question(
            conversion or self.conversion,
            (self.delta if delta is None else delta) * self.delta_share,
            bound or self.bound,
            loss or self.loss,
        )

    def _as_given(self, certificate: Certificate) -> Certificate:
        """The certificate as it would be given now: the same choice, or it is refused."""
        if certificate.rounds != self.rounds:
            raise ConversionError(
                f"this certificate was given after {certificate.rounds:,} rounds, and the pass has learned "
                f"{self.rounds:,}: ask for a new one"
            )
        now = self._answer(Question(certificate.conversion, certificate.delta, certificate.bound, certificate.loss))
        same = all(getattr(now, name) == getattr(certificate, name) for name in ("choice", "counted", "empirical"))
        if now.counted and not same:
            raise ConversionError("this certificate is not from this pass: ask the pass itself for one")
        return now

    def _must_have_learned(self) -> None:
        if not self.rounds:
            raise ConversionError("no row has been learned yet")

    @abstractmethod
    def _must_be_sound(self) -> None:
        """Raise if nothing may be given away of what was learned."""

    @abstractmethod
    def _evidence_now(self) -> Evidence:
        """What certificates given now are of."""

    @abstractmethod
    def _answer(self, question: Question) -> Certificate:
        """The certificate that answers the question."""

    @abstractmethod
    def _deploy(self, certificate: Certificate, how: str) -> LinearModel | VotedModel:
        """The model that a certificate given now speaks of."""

"""Certificates: how large the risk can be, from the losses that the pass made on the way.

A rule chooses rounds predictably (B_i ∈ {0, 1}); n = ΣB, L̄ = ΣB·ℓ/n, losses in [0, C]. Each theorem here bounds the
average risk of the hypotheses used in those rounds, which for a convex loss bounds the risk of their average too.
"""

from onepass.certificates.betting import betting
from onepass.certificates.certificate import NOTABLE, Certificate, round_up
from onepass.certificates.certify import BOUNDS, LOSSES, certified_loss, certify, check
from onepass.certificates.dekel2008 import dekel2008, dekel2008_a

__all__ = [
    "BOUNDS",
    "LOSSES",
    "NOTABLE",
    "Certificate",
    "betting",
    "certified_loss",
    "certify",
    "check",
    "dekel2008",
    "dekel2008_a",
    "round_up",
]

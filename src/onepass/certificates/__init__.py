"""Certificates: how large the risk can be, from the losses that the pass made on the way.

A rule chooses rounds predictably (B_i ∈ {0, 1}); n = ΣB, L̄ = ΣB·ℓ/n, losses in [0, C]. Each theorem here bounds the
average risk of the hypotheses used in those rounds, which for a convex loss bounds the risk of their average too.
"""

from onepass.certificates.betting import betting
from onepass.certificates.certificate import NOTABLE, Certificate
from onepass.certificates.certify import BOUNDS, LOSSES, certified_loss, certify, check
from onepass.certificates.dekel2008 import dekel2008, dekel2008_a
from onepass.certificates.forecast import LearningPlan, expected_risk, risk_forecast, rows_needed
from onepass.certificates.pair import best_candidate, candidate_risk, class_risk, cost_risk
from onepass.certificates.probabilities import Calibration, calibrate
from onepass.certificates.rates import Rate, Rates, rates
from onepass.certificates.rounding import round_down, round_up
from onepass.certificates.score_bins import border_levels
from onepass.certificates.target import Confidence, Target, target_of
from onepass.certificates.threshold import Threshold
from onepass.certificates.threshold_choice import choose_threshold
from onepass.conversions.pricing import candidate_price

__all__ = [
    "BOUNDS",
    "LOSSES",
    "NOTABLE",
    "Calibration",
    "Certificate",
    "Confidence",
    "LearningPlan",
    "Rate",
    "Rates",
    "Target",
    "Threshold",
    "best_candidate",
    "betting",
    "border_levels",
    "calibrate",
    "candidate_price",
    "candidate_risk",
    "certified_loss",
    "certify",
    "check",
    "choose_threshold",
    "class_risk",
    "cost_risk",
    "dekel2008",
    "dekel2008_a",
    "expected_risk",
    "rates",
    "risk_forecast",
    "round_down",
    "round_up",
    "rows_needed",
    "target_of",
]

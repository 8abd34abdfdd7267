"""What barkai1995 proves: exact errors, order-parameter equations for N → ∞, and the laws they end in.

The two facts behind the equations. The mean step of a student W, given the input S, is along

    ⟨e·y | S⟩ = ½·((1 − 2p)·sgn(W₀·S) − sgn(W·S)),            e = 1 on a mistake

and with S = U + Z, Z standard normal, Stein's lemma gives ⟨sgn(W·S)·Z⟩ = 2φ(q)·W, φ the normal density, q = U·W. So

    ⟨e·y·(S − T)⟩ = m·(U − T) + (1 − 2p)·φ(q₀)·W₀ − φ(q)·W,    m = ½·((1 − 2p)·erf(q₀/√2) − erf(q/√2))

from which every flow below follows by projection. `shift` is "none", "exact" (T known), "learned" (T by running
averages) or "weighted" (T(S) = ψ(S)·⟨y·S⟩/⟨y·ψ⟩ known, ψ linear) throughout.
"""

from __future__ import annotations

from onepass.lab.theory.clean import (
    BATCH,
    ONLINE_OPTIMUM,
    UNNORMALIZED,
    clean_constant,
    clean_flow,
    clean_law,
    stationary_error,
)
from onepass.lab.theory.exact_errors import disagreement, disagreement_at, generalization_error
from onepass.lab.theory.flow import Flow, Shift
from onepass.lab.theory.noisy import best_eta0, noisy_constant, noisy_flow, noisy_law, noisy_stationary_excess
from onepass.lab.theory.plain_rule import Limit, plain_limit_of_small_noise, plain_limits

__all__ = [
    "BATCH",
    "ONLINE_OPTIMUM",
    "UNNORMALIZED",
    "Flow",
    "Limit",
    "Shift",
    "best_eta0",
    "clean_constant",
    "clean_flow",
    "clean_law",
    "disagreement",
    "disagreement_at",
    "generalization_error",
    "noisy_constant",
    "noisy_flow",
    "noisy_law",
    "noisy_stationary_excess",
    "plain_limit_of_small_noise",
    "plain_limits",
    "stationary_error",
]

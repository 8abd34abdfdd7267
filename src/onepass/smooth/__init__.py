"""Thresholded smooth functions, learned from data: the hypotheses are not linear, so no pass holds them.

functions  f(x; W) and its slope: linear, soft committee, quadratic, or the user's own
threshold  SmoothThreshold, the step after a mistake
estimator  SmoothThresholdClassifier, for scikit-learn
"""

from onepass.smooth.functions import check_gradient
from onepass.smooth.threshold import SmoothThreshold

__all__ = ["SmoothThreshold", "check_gradient"]

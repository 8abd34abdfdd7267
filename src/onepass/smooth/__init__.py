"""Thresholded smooth functions, learned from data: the hypotheses are not linear, so no pass holds them."""

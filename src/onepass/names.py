"""Learners and conversions by their names, and where each lives. Nothing is imported, so that --help can list them."""

LEARNERS: dict[str, tuple[str, str, dict[str, object]]] = {  # name → module in learners/, class, arguments
    "adaptive": ("adaptive", "Adaptive", {}),
    "perceptron": ("perceptron", "Perceptron", {}),
    "margin": ("margin", "MarginPerceptron", {}),
    "margin-sphere": ("margin", "MarginPerceptron", {"projection": "sphere"}),
    "pa": ("passive_aggressive", "PassiveAggressive", {}),
    "pa2": ("passive_aggressive", "PassiveAggressive", {"variant": 2}),
    "normalized": ("normalized", "NormalizedPerceptron", {}),
    "shifted": ("shifted", "ShiftedPerceptron", {}),
}
CONVERSIONS = {  # name → module in conversions/, class
    "frozen": ("frozen", "Frozen"),
    "cutoff": ("cutoff", "Cutoff"),
    "average": ("average", "Average"),
    "last": ("single", "Last"),
    "longest": ("single", "Longest"),
    "suffix": ("suffix", "Suffix"),
    "validation": ("validation", "Validation"),
}

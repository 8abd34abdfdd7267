"""Which tests are whose: by room, so that `pytest -m io` runs what an edit of io/ can break."""

from fnmatch import fnmatch

# room → its test modules; the same table stands in CONTRIBUTING.md, the markers in pyproject.toml
ROOMS = {
    "learners": ("test_learners*",),
    "trace": ("test_trace",),
    "certificates": (
        "test_certificates",
        "test_forecast",
        "test_theorems",
        "test_watched_certificates",
        "test_thresholds",
        "test_probabilities",
    ),
    "guards": ("test_drift*", "test_repeats", "test_duplicates", "test_structure", "test_labels"),
    "passes": (
        "test_passes",
        "test_pass_parts",
        "test_background",
        "test_joining",
        "test_watching",
        "test_same_bits",
        "test_estimator",
        "test_averager",
        "test_models",
        "test_history",
        "test_race",
    ),
    "monitoring": ("test_monitor*",),
    "tables": ("test_tables_found",),
    "io": ("test_io*", "test_datasets", "test_files", "test_training", "test_encoder"),
    "checkpoints": ("test_checkpoint*",),
    "experts": ("test_experts*",),
    "cluster": ("test_cluster*",),
    "lab": ("test_lab", "test_lab_*"),
    "experiments": ("test_experiments*",),
    "scale": ("test_scale*", "test_executor"),
    "report": ("test_report*",),
    "cli": ("test_cli*", "test_faults", "test_errors", "test_tables"),
    "house": ("test_house", "test_rules", "test_docstrings", "test_readme", "test_splitmix", "test_vectors"),
}


def rooms_of(module):
    """The rooms whose patterns fit the name of a test module.

    >>> rooms_of("test_io_vw")
    ['io']
    """
    return [room for room, patterns in ROOMS.items() if any(fnmatch(module, pattern) for pattern in patterns)]

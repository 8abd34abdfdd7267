"""River's drift detectors on streams of 0 and 1, and MAPIE's RiskMonitoring row by row; run by `drift.py`.

    PEERS_PYTHON benchmarks/drift_peers.py STREAMS.npz    # prints JSON: detector → the row at which each stream rang
    PEERS_PYTHON benchmarks/drift_peers.py --mapie 1000   # prints seconds for so many rows, one by one

It needs `river` and `mapie` and nothing of onepass: they live in an environment of their own.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np


def detectors():
    from river import drift
    from river.drift import binary

    return {
        "ADWIN": drift.ADWIN,
        "DDM": binary.DDM,
        "EDDM": binary.EDDM,
        "HDDM_A": binary.HDDMA,
        "HDDM_W": binary.HDDMW,
        "Page-Hinkley": drift.PageHinkley,
    }


def first_alarm(detector, errors) -> int:
    """The row, from 1, at which the detector rings first; 0: never."""
    for row, error in enumerate(errors, 1):
        detector.update(error)
        if detector.drift_detected:
            return row
    return 0


def mapie(rows: int) -> float:
    from mapie.exchangeability_testing import RiskMonitoring

    rng = np.random.default_rng(0)
    monitor = RiskMonitoring(risk="accuracy", warn=False)
    y = rng.integers(0, 2, size=rows + 1000)
    predicted = np.where(rng.random(rows + 1000) < 0.1, 1 - y, y)
    monitor.compute_threshold(y[:1000], predicted[:1000])
    start = time.perf_counter()
    for i in range(1000, rows + 1000):
        monitor.update(y[i : i + 1], predicted[i : i + 1])
    return time.perf_counter() - start


if __name__ == "__main__":
    if sys.argv[1] == "--mapie":
        print(json.dumps(mapie(int(sys.argv[2]))))
    else:
        streams = np.load(sys.argv[1])
        found = {}
        for name, made in detectors().items():
            found[name] = [first_alarm(made(), streams[key].tolist()) for key in streams.files]
        print(json.dumps(found))

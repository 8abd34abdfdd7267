"""Compiled kernels of a test run live in a folder keyed by the sources: numba's cache does not notice an edited callee
in another file."""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / f"numba-{_fingerprint()}"))

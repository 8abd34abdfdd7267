"""Compiled kernels of a test run live in a folder keyed by the sources that they are made of: numba's cache does not
notice an edited callee or constant in another file. Files that no kernel can see do not count, so that an edit of the
command line compiles nothing."""

import ast
import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent
SOURCES = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "src").rglob("*.py")
}


def _imported(path: Path) -> set[str]:
    """The modules of ours that a file names in its imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names & SOURCES.keys()


def _fingerprint() -> str:
    """Of all files that hold kernels (they import `onepass._jit`) and of all that these import, however far."""
    imports = {name: _imported(path) for name, path in SOURCES.items()}
    seen, todo = set(), [name for name in SOURCES if "onepass._jit" in imports[name] | {name}]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += imports[name]
    digest = hashlib.sha256()
    for name in sorted(seen):
        digest.update(SOURCES[name].read_bytes())
    return digest.hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / f"numba-{_fingerprint()}"))

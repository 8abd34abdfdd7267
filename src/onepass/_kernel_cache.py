"""numba's cache of compiled kernels, looked for late and ready at once; and what kernels are for each other.

All that is used here of numba is its own business, and may change with any of its versions. A name that is gone is an
ImportError, and `_jit` then asks numba for its own cache; what is still there and works otherwise is left to numba
where it shows, by AttributeError or TypeError.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, cached_property
from typing import Any

from llvmlite.binding import parse_assembly
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def serve_kernels(outer: Any, make_inner: Callable[[], Any]) -> Callable[..., Any]:
    """The compiled function `outer`, but kernels that call it get another: the same without a way in from Python.

    Taking dozens of arrays out of Python's objects is more code than most kernels. And numbers that stand in the code
    of the caller are to it what any others are: numba would compile it anew for each. It is made where it is wanted,
    which is where something is compiled: what loads all kernels from the cache starts without it.
    """

    @cache
    def inner() -> Any:
        made = make_inner()
        outer._compiling_counter = made._compiling_counter  # how one that calls itself is known
        return made

    def template(args: Any, kws: Any) -> Any:
        return inner().get_call_template([*map(unliteral, args)], {k: unliteral(v) for k, v in kws.items()})

    outer.get_call_template, outer.get_overload = template, lambda types: inner().get_overload(types)
    return outer  # type: ignore[no-any-return]


class KernelCache:
    """numba's cache of one function's compiled code, but it is looked for only when the function is called.

    And it is ready at once: numba itself makes all its libraries known to the compiler before it loads what needs no
    compiler, 0.2 s at the start of every program (0.4 s with SciPy). A damaged file is as good as none. `part` is what
    its files are called beside the function.
    """

    missing = 0  # functions, of all in this process, that nobody had compiled before

    def __init__(self, function: Callable[..., Any], notice: Callable[[], None], part: str = "") -> None:
        self._function, self._notice, self._part = function, notice, part

    @cached_property
    def _cache(self) -> Any:
        try:
            found = (FunctionCache if self._part else _LeanCache)(self._function)
        except RuntimeError:  # numba finds neither the package folder nor the home writable
            self._notice()
            return NullCache()
        with suppress(AttributeError, TypeError):
            found._cache_file = _Files(
                cache_path=found._cache_path,
                filename_base=found._impl.filename_base + self._part,
                source_stamp=(found._impl.locator.get_source_stamp(), _package_stamp()),
            )
            return found
        return NullCache() if self._part else found  # the two forms of a kernel must not share a file

    @property
    def cache_path(self) -> str | None:
        """The folder, if there is one."""
        return self._cache.cache_path  # type: ignore[no-any-return]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for these types, or None."""
        found = self._found(sig, target_context)
        KernelCache.missing += found is None
        return found

    def _found(self, sig: Any, target_context: Any) -> Any:
        if isinstance(self._cache, NullCache):
            return None
        with suppress(AttributeError, TypeError):
            rtsys.initialize(target_context)  # what arrays inside kernels are allocated with
            with self._cache._guard_against_spurious_io_errors():
                return self._cache._load_overload(sig, target_context)
        self._cache = NullCache() if self._part else FunctionCache(self._function)  # all is left to numba from here on
        return self._cache.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled."""
        self._cache.save_overload(sig, data)

    def flush(self) -> None:
        """Forget all of it."""
        self._cache.flush()


class _Lean(CompileResultCacheImpl):  # type: ignore[misc]
    """What is stored of a kernel, without the code in which others would take it in: they take its `.inner` part.

    To read that code and to list its symbols is half of what loading a kernel takes. The name by which Python calls it
    must be there.
    """

    def reduce(self, compiled: Any) -> Any:
        whole = super().reduce(compiled)
        with suppress(AttributeError, TypeError, ValueError):  # else all of it is stored
            (name, kind, (machine_code, _)), *rest = whole
            called = compiled.fndesc.llvm_cpython_wrapper_name
            stub = parse_assembly(f'define void @"{called}"() {{ ret void }}')
            return ((name, kind, (machine_code, stub.as_bitcode())), *rest) if kind == "object" else whole
        return whole


class _LeanCache(FunctionCache):  # type: ignore[misc]
    _impl_class = _Lean


@cache
def _package_stamp() -> str:
    """What tells these sources from others: a kernel holds what it calls, from whatever file that comes."""
    root = os.path.dirname(__file__)
    found = [
        (os.path.relpath(folder, root), name, status.st_mtime_ns, status.st_size)
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(".py")
        for status in [os.stat(os.path.join(folder, name))]
    ]
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    """One index and its data files; several processes may save at the same time, and none undoes what another did.

    Data begin with a checksum: of code with a bit turned over the processor would make anything.
    """

    def save(self, key: Any, data: Any) -> None:
        name = self._data_name(zlib.crc32(repr(key[:2]).encode()))  # numba counts: two processes to the same number
        self._save_data(name, data)
        with _alone(self._index_path):
            self._save_index(self._load_index() | {key: name})

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # whatever unpickling junk may raise
            return {}

    def _save_data(self, name: str, data: Any) -> None:
        code = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(zlib.crc32(code).to_bytes(4, "little") + code)

    def _load_data(self, name: str) -> Any:
        try:
            with open(self._data_path(name), "rb") as file:
                checksum, code = int.from_bytes(file.read(4), "little"), file.read()
            if zlib.crc32(code) != checksum:
                raise ValueError("other bytes than were written")
            return _Unpickler(io.BytesIO(code)).load()
        except Exception as error:
            raise OSError(f"{name} is damaged") from error  # which numba takes as: not there


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """No other process is in such a block for this path, where the system can tell."""
    with ExitStack() as stack:
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(stack.enter_context(open(f"{path}.lock", "w")), fcntl.LOCK_EX)
        yield


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        quick = name == "_rebuild_env" and hasattr(Environment, "_memo")
        return _environment if quick else super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    """What numba gives a compiled function at hand, without importing the module that it was written in.

    That of np.empty alone takes 30 ms; kernels know their globals, and look up constants only.
    """
    if (known := lookup_environment(name)) is not None:
        return known
    made = Environment(vars(sys.modules[module]) if module in sys.modules else {})
    made.consts[:] = constants
    made.env_name = name
    Environment._memo[name] = made
    return made

"""Connecting: workers of this machine, or a scheduler somewhere, with TLS where it is asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onepass.errors import ScaleError, printable

DEATHS = 3  # local workers that may die of one task before it is to blame: each takes seconds to come back

# Workers keep freed memory for the next block; Dask would have them give it back at once, to be zeroed again.
MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(512 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20), "OMP_NUM_THREADS": "1"}
# Left to themselves, Dask's processes profile and time themselves up to a hundred times a second, busy or idle, which
# takes an eighth of a core.
SETTINGS = {
    "distributed.scheduler.allowed-failures": DEATHS - 1,
    "distributed.nanny.pre-spawn-environ": MEMORY,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}


@contextmanager
def local_workers(count: int) -> Iterator[Any]:
    """A Dask client with `count` worker processes of one thread each, that listen on the loopback interface only.

    In a script, call it under `if __name__ == "__main__":`, since worker processes import the script.

    Parameters
    ----------
    count : int
        Worker processes.

    Returns
    -------
    context manager of distributed.Client
        At the end of the `with` block the workers end.

    Raises
    ------
    ValueError
        If it is no positive whole number.
    ScaleError
        If Dask is not installed.

    Examples
    --------
    >>> from onepass import scale
    >>> with scale.local_workers(2) as client:  # doctest: +SKIP
    ...     merged = scale.learn(scale.cut("day*.svm"), client)
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"workers: a positive whole number expected, got {count!r}")
    distributed = _distributed()
    import dask

    with dask.config.set(SETTINGS):
        cluster = distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    try:
        with _quiet(), distributed.Client(cluster, set_as_default=False) as client:
            yield client
    finally:
        cluster.close()


@contextmanager
def connect(
    address: str,
    *,
    tls_ca_file: str | None = None,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    timeout: float = 30.0,
) -> Iterator[Any]:
    """A Dask client of the scheduler at this address. With TLS files the connection is encrypted both ways.

    Parameters
    ----------
    address : str
        Such as "tcp://10.0.0.1:8786" or "tls://10.0.0.1:8786".
    tls_ca_file : str or None, default None
        The certificate of the authority that both sides trust.
    tls_cert, tls_key : str or None, default None
        The client's own certificate and key.
    timeout : float, default 30.0
        Seconds until a scheduler that does not answer is given up.

    Returns
    -------
    context manager of distributed.Client
        At the end of the `with` block the connection is closed; the scheduler stays.

    Raises
    ------
    ScaleError
        If no scheduler answers, or Dask is not installed.
    ValueError
        If TLS files are missing, cannot be read, or the address is not encrypted.

    Examples
    --------
    >>> from onepass import scale
    >>> with scale.connect("tcp://10.0.0.1:8786") as client:  # doctest: +SKIP
    ...     merged = scale.learn(scale.cut("day*.svm"), client)
    """
    distributed = _distributed()
    files = {"tls_ca_file": tls_ca_file, "tls_cert": tls_cert, "tls_key": tls_key}
    if any(files.values()) and address.startswith("tcp://"):
        raise ValueError(f"address: TLS files were given, but {address} is not encrypted: tls://… expected")
    if wrong := tls_faults(address, files):
        raise ValueError("; ".join(f"{argument}: {why}" for argument, why in wrong.items()))
    security = _security(files) if any(files.values()) or address.startswith("tls://") else None
    with _quiet():
        try:
            client = distributed.Client(address, security=security, timeout=timeout, set_as_default=False)
        except (OSError, TimeoutError, TypeError, ValueError, RuntimeError) as error:
            why = " ".join(str(error).split())  # on one line
            raise ScaleError(f"no scheduler answers at {address} ({type(error).__name__}: {why})") from error
        with client:
            yield client


def tls_faults(address: str, files: dict[str, str | None]) -> dict[str, str]:
    """What is wrong with the files of `connect`, by argument; what is not given may stand in Dask's configuration."""
    found: dict[str, str] = {}
    for argument, file in files.items():
        if file is not None and "\n" not in file:  # Dask takes the certificate itself, too
            try:
                open(file, "rb").close()
            except OSError as error:
                found[argument] = f"{printable(file)}: {error.strerror}"
    if address.startswith("tls://"):
        security = _security(files)
        if not security.tls_ca_file:
            found["tls_ca_file"] = f"missing: {address} needs the certificate of the authority that both sides trust"
        if not security.tls_client_cert:
            found["tls_cert"] = f"missing: {address} lets in only who has a certificate"
    return found


def _security(files: dict[str, str | None]) -> Any:
    """Dask's own record of them, with what its configuration adds."""
    names = {"tls_ca_file": "tls_ca_file", "tls_cert": "tls_client_cert", "tls_key": "tls_client_key"}
    given = {names[argument]: file for argument, file in files.items() if file is not None}
    return _distributed().Security(require_encryption=True, **given)


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own reports of lost workers: what they come to is told at the end, or as an error.

    Its configuration gives some of its loggers levels of their own, so that the one above them has no say.
    """
    names = ["distributed", *(name for name in logging.root.manager.loggerDict if name.startswith("distributed."))]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ScaleError("Dask is not installed: pip install 'onepass[dask]'") from error
    return distributed

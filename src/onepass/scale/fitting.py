"""A OnePassClassifier fitted on several machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from onepass.race import entries_named
from onepass.scale.inputs import cut
from onepass.scale.learning import learn
from onepass.scale.progress import Watch
from onepass.tables.plan import ENCODINGS

if TYPE_CHECKING:
    from onepass.estimator import OnePassClassifier


def fit(
    classifier: OnePassClassifier,
    data: Any,
    y: Any = None,
    *,
    client: Any = None,
    classes: Any = None,
    target: str | None = None,
    waves: int | None = None,
    chunk_bytes: int | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> OnePassClassifier:
    r"""Fit the classifier on files, a Dask array, data frame or bag, or delayed chunks; see `cut` and `learn`.

    Rows are taken in the order in which they lie: `shuffle` is for `fit` alone.

    Parameters
    ----------
    classifier : OnePassClassifier
        With its options; it is fitted itself.
    data : path, paths or collection
        As `cut` takes it.
    y : dask array or None, default None
        The labels beside a Dask array.
    client : distributed.Client or None, default None
        Whose workers learn. None: this process, to the same bits.
    classes : array_like or None, default None
        All labels. None: those of the chunks.
    target : str or None, default None
        The label's column of a data frame or a table.
    waves : int or None, default None
        As `learn` takes it.
    chunk_bytes : int or None, default None
        As `cut` takes it.
    watch : callable or None, default None
        Is told, by a Progress, of every chunk that is done.
    \*\*reading
        Options of `onepass.io.open_stream`, for files.

    Returns
    -------
    OnePassClassifier
        The classifier, fitted.

    Raises
    ------
    ScaleError
        If the run cannot be finished; the message names the chunk.
    DataError, ConversionError, ValueError, TypeError
        As `cut` and `learn`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onepass import OnePassClassifier, scale
    >>> from onepass.datasets import Newswire
    >>> from onepass.io import dump_svmlight
    >>> X, labels = Newswire().documents(0, 4000, categories=("CCAT", "GCAT"))
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "news.svm"
    >>> dump_svmlight(file, X, np.where(labels == "CCAT", 1, -1))
    >>> clf = scale.fit(OnePassClassifier(), file, chunk_bytes=1 << 21, waves=2)
    >>> clf.certificate_.rounds, clf.certificate_.informative
    (4000, True)
    """
    entries = () if classifier.race is None else entries_named(classifier.race)
    if any(name in ENCODINGS for name in entries):
        raise ValueError(f"race: learners are wanted, and {', '.join(ENCODINGS)} are encodings of tables")
    options = {
        name: value
        for name, value in classifier.get_params(deep=False).items()
        if name not in ("shuffle", "random_state", "pickle_rows", "race")
    }
    listed = None if classes is None else np.unique(classes).tolist()
    inputs = cut(data, y, target=target, chunk_bytes=chunk_bytes, **reading)
    merged = learn(inputs, client, waves=waves, watch=watch, race=entries or None, classes=listed, **options)
    classifier._pass, classifier._kept, classifier._looked = merged, {}, {}  # type: ignore[assignment]
    classifier.classes_ = np.array(merged.classes)
    classifier.n_features_in_ = merged.width
    names = inputs.names or merged.columns
    if names is not None and len(names) == merged.width:
        classifier.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(classifier, "feature_names_in_"):
        del classifier.feature_names_in_
    return classifier

"""RCV1-v2 as distributed: tokens, vectors, topics, and what is said of files that are not whole."""

import gzip
import math
from collections import Counter

import numpy as np
import pytest

from onepass import datasets
from onepass.errors import DataError
from onepass.io import lyrl2004

TOKENS = {
    "lyrl2004_tokens_test_pt0.dat": ".I 26151\n.W\ntocom million million rupiah\nrupiah million\n\n.I 26152\n.W\n\n",
    "lyrl2004_tokens_train.dat": ".I 2286\r\n.W\r\nrecov recov recov excit\r\nbring index\r\n\r\n.I 2287\n.W\nexcit",
}
QRELS = "C15 26151 1\nCCAT 26151 1\nE11 2286 1\nECAT 2286 1\nM11 2286 1\nMCAT 2286 1\nGCAT 2287 1\n"


def write(folder, files, packed=False):
    for name, text in files.items():
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_bytes(text.encode())
    return folder


def expected(text):
    """Word counts per document, by the definition: what stands between .W and the next .I."""
    return {
        int(record.split()[0]): Counter(record.split(".W", 1)[1].split())
        for record in text.split(".I")
        if record.strip()
    }


@pytest.mark.parametrize("packed", [False, True])
def test_tokens_become_logarithms_of_counts(tmp_path, packed):
    write(tmp_path, {**TOKENS, "rcv1-v2.topics.qrels": QRELS}, packed)
    documents, categories, kind = lyrl2004.read(tmp_path)
    assert kind == "tokens"
    told = {number: counts for text in TOKENS.values() for number, counts in expected(text).items()}
    assert documents.ids.tolist() == list(told)
    names = [word.decode() for word in documents.words]
    assert documents.width == len(names) == len(set().union(*told.values()))
    for i, number in enumerate(documents.ids.tolist()):
        span = slice(documents.rows.indptr[i], documents.rows.indptr[i + 1])
        there = {names[f]: v for f, v in zip(documents.rows.indices[span], documents.rows.values[span], strict=True)}
        assert there == {word: math.log2(1 + count) for word, count in told[number].items()}
        assert (np.diff(documents.rows.indices[span]) > 0).all()
    assert categories.tolist() == ["CCAT", "OTHER", "", "GCAT"]
    X, y = datasets.rcv1(tmp_path)
    assert X.shape == (3, len(names))
    assert y.tolist() == ["CCAT", "OTHER", "GCAT"]


def test_batches_are_joined(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(["a", "b", "c", "d"], size=rng.integers(0, 6))) for _ in range(57)]
    text = "".join(f".I {i}\n.W\n{line}\n\n" for i, line in enumerate(words))
    write(tmp_path, {"lyrl2004_tokens_train.dat": text})
    whole = lyrl2004.read_tokens([str(tmp_path / "lyrl2004_tokens_train.dat")])
    monkeypatch.setattr(lyrl2004, "BATCH", 10)
    parts = lyrl2004.read_tokens([str(tmp_path / "lyrl2004_tokens_train.dat")])
    for one, other in zip(whole.rows, parts.rows, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [Counter(line.split()).total() for line in words] == [
        round((2.0 ** whole.rows.values[a:b] - 1).sum())
        for a, b in zip(whole.rows.indptr, whole.rows.indptr[1:], strict=False)
    ]


def test_vectors_keep_their_values(tmp_path):
    lines = "2286  3:0.5 7:0.25\n2287  1:1\n26151  7:0.125\n"
    write(tmp_path, {"lyrl2004_vectors_train.dat": lines, "rcv1-v2.topics.qrels": QRELS})
    X, y = datasets.rcv1(tmp_path)
    assert y.tolist() == ["GCAT", "CCAT"]
    assert X.toarray().tolist() == [[1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0.125]]
    write(tmp_path, TOKENS)
    assert datasets.rcv1(tmp_path)[0].shape[0] == 3  # tokens come first
    assert datasets.rcv1(tmp_path, "vectors")[0].shape[0] == 2
    with pytest.raises(ValueError, match="kind: one of tokens, vectors or None"):
        datasets.rcv1(tmp_path, "words")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("recov\n", 1, "before anything else"),
        (".I\n.W\n", 1, "`.I document` expected"),
        (".I 1 2\n.W\n", 1, "`.I document` expected"),
        ("\n.I 12x\n.W\n", 2, "a document's number expected"),
        (".I 1\nrecov\n", 2, "words before the .W of document 1"),
        (".I 1\n.W\na\n.W\n", 4, "a second .W in document 1"),
        (".I 1\n.W\n.T\n", 3, "an unknown field"),
        (".I 1\n.W\na\n\n.I 2\n", 5, "document 2 has no .W"),
        (".I 1\n.W\na\n\n.I 1\n.W\n", 5, "document 1 stands twice"),
        ("\n\n", None, "no documents"),
        ("<html>404", None, "an HTML or XML page"),
    ],
)
def test_token_files_that_are_not_whole(tmp_path, text, line, message):
    path = str(write(tmp_path, {"lyrl2004_tokens_train.dat": text}) / "lyrl2004_tokens_train.dat")
    with pytest.raises(DataError, match=message) as error:
        lyrl2004.read_tokens([path])
    assert (error.value.source, error.value.line) == (path, line)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("CCAT 1 1\nCCAT 2\n", 2, "`topic document 1` expected"),
        ("CCAT 1 0\n", 1, "`topic document 1` expected"),
        ("CCAT one 1\n", 1, "a document's number expected"),
        ("CCAT 12345678901234567890 1\n", 1, "a document's number expected"),
        ("", None, "no topics"),
    ],
)
def test_topics_files_that_are_not_whole(tmp_path, text, line, message):
    path = str(write(tmp_path, {"rcv1-v2.topics.qrels": text}) / "rcv1-v2.topics.qrels")
    with pytest.raises(DataError, match=message) as error:
        lyrl2004.read_topics(path)
    assert (error.value.source, error.value.line) == (path, line)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1 3:x\n", 1, "not a number"),
        ("7 3:1\n1.5 3:1\n", 2, "a whole number"),
        ("7 3:1\n8 1:1\n7 3:1\n", 3, "document 7 stands twice"),
    ],
)
def test_vector_files_that_are_not_whole(tmp_path, text, line, message):
    path = str(write(tmp_path, {"lyrl2004_vectors_train.dat": text}) / "lyrl2004_vectors_train.dat")
    with pytest.raises(DataError, match=message) as error:
        lyrl2004.read_vectors([path])
    assert (error.value.source, error.value.line) == (path, line)


def test_a_cut_gz_is_no_shorter_data_set(tmp_path):
    text = "".join(f".I {i}\n.W\nword{i} other{i * 7919}\n\n" for i in range(3000))
    packed = gzip.compress(text.encode())
    (tmp_path / "lyrl2004_tokens_train.dat.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match="ends early"):
        lyrl2004.read_tokens([str(tmp_path / "lyrl2004_tokens_train.dat.gz")])


def test_folders_that_lack_something(tmp_path):
    with pytest.raises(DataError, match=r"holds no \*lyrl2004_tokens"):
        datasets.rcv1(tmp_path)
    write(tmp_path, TOKENS)
    with pytest.raises(DataError, match=r"holds no \*rcv1-v2.topics.qrels"):
        datasets.rcv1(tmp_path)
    write(tmp_path, {"rcv1-v2.topics.qrels": QRELS, "old.rcv1-v2.topics.qrels": QRELS})
    with pytest.raises(DataError, match="two topics files"):
        datasets.rcv1(tmp_path)


def test_fetching_without_a_network_says_what_else_to_do(monkeypatch):
    import sklearn.datasets

    def fail():
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", fail)
    with pytest.raises(DataError, match="no route to host") as error:
        datasets.fetch_rcv1()
    assert "folder" in str(error.value)


def test_what_is_fetched_is_sorted_into_categories(monkeypatch):
    import scipy.sparse
    import sklearn.datasets
    from sklearn.utils import Bunch

    names = np.array(["C11", "CCAT", "ECAT", "GCAT", "MCAT"])
    target = scipy.sparse.csr_matrix([[1, 1, 0, 0, 0], [0, 0, 1, 0, 1], [0, 0, 0, 1, 0]])
    data = scipy.sparse.csr_matrix(np.diag([1.0, 2.0, 3.0]))
    bunch = Bunch(data=data, target=target, target_names=names, sample_id=np.array([5, 6, 7]))
    monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", lambda: bunch)
    X, y = datasets.fetch_rcv1()
    assert y.tolist() == ["CCAT", "GCAT"]
    assert X.toarray().tolist() == [[1, 0, 0], [0, 0, 3]]

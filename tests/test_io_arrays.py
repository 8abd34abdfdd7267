"""NumPy's files: .npy and .npz."""

import zipfile

import numpy as np
import pytest
import scipy.sparse

from onepass.io import open_stream
from test_io_tabular import X, Y, fails, read


def test_sparse_npz_as_scipy_writes_it(tmp_path):
    matrix = scipy.sparse.random_array((9000, 40), density=0.1, format="csr", random_state=np.random.default_rng(0))
    scipy.sparse.save_npz(tmp_path / "only.npz", matrix)
    fails("no member y", tmp_path / "only.npz")
    with np.load(tmp_path / "only.npz") as parts:
        np.savez_compressed(tmp_path / "d.npz", y=np.arange(9000) % 2, **parts)
    with open_stream(tmp_path / "d.npz") as stream:
        chunks = list(stream)
    assert len(chunks) > 1
    assert np.concatenate([chunk.rows.values for chunk in chunks]).tobytes() == matrix.data.tobytes()
    assert np.concatenate([chunk.rows.indices for chunk in chunks]).tolist() == matrix.indices.tolist()
    assert all(chunk.rows.indptr[0] == 0 and chunk.rows.indices.dtype == np.int32 for chunk in chunks)


def test_npz_members_are_checked_before_they_are_trusted(tmp_path):
    path = tmp_path / "d.npz"
    good = {
        "data": np.ones(3),
        "indices": np.array([0, 2, 1]),
        "indptr": np.array([0, 2, 3]),
        "shape": np.array([2, 3]),
    }
    np.savez(path, y=[1, 2], **good)
    assert read(path)[0][:, :3].tolist() == [[1, 0, 1], [0, 1, 0]]
    for change, message in [
        ({"indices": np.array([0, 3, 1])}, "row 1: index 3 outside"),
        ({"indices": np.array([0, 2, -1])}, "row 2: index -1 outside"),
        ({"indptr": np.array([0, 4, 3])}, "indptr decreases|past the end"),
        ({"indptr": np.array([1, 2, 3])}, "does not start at 0"),
        ({"indptr": np.array([0, 3])}, "lengths of its parts"),
        ({"shape": np.array([2, 2**40])}, "the limit is"),
        ({"data": np.array([1, np.nan, 1])}, "row 1: column 2 holds nan"),
        ({"y": np.array([1, 2, 3])}, "y the shape"),
        ({"y": np.array([1, object()])}, "Python objects"),
        ({"indptr": np.array([b"", b"", b""])}, "member indptr holds"),
        ({"indices": np.array([0.0, 2.0, 1.0])}, "member indices holds float64"),
        ({"shape": np.array([2, -3])}, "lengths of its parts"),
        ({"y": np.frombuffer(b"\0\0\0\0\xff\xff\xff\xff", "<U1")}, "row 2: the label holds what is no character"),
    ]:
        np.savez(path, **{"y": np.array([1, 2]), **good, **change})
        fails(message, path)
    np.savez(path, z=1)
    fails("no member y", path)
    np.savez(
        path, y=[1], **{**good, "indices": np.array([2, 0, 2]), "indptr": np.array([0, 3]), "shape": np.array([1, 3])}
    )
    assert read(path)[0][0, :3].tolist() == [1, 0, 2]  # sorted, duplicates added


def test_text_labels_of_any_kind_and_byte_order(tmp_path):
    for labels in (np.array([b"a", b"\xe9"]), np.array(["a", "\\xe9"]).astype(">U4")):
        np.savez(tmp_path / "d.npz", X=X[:2], y=labels)
        assert read(tmp_path / "d.npz")[1].tolist() == ["a", "\\xe9"]


def test_what_stops_numpy_and_zipfile_themselves_is_an_error_of_ours(tmp_path):
    """Found by fuzzing: a header that Python's tokenizer cannot end, and an archive that points outside itself."""
    path = tmp_path / "d.npy"
    np.save(path, X)
    path.write_bytes(path.read_bytes().replace(b"(3, 2), }", b"(3, 2, }("))
    fails("cannot be read as .npy", path, target=0)
    archive = tmp_path / "d.npz"
    np.savez(archive, X=X, y=Y)
    data = bytearray(archive.read_bytes())
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 42 : directory + 46] = b"\xff\xff\xff\x7f"  # where the last member begins
    archive.write_bytes(bytes(data))
    fails("damaged", archive)


def test_damaged_numpy_files_are_errors(tmp_path):
    path = tmp_path / "d.npy"
    np.save(path, np.column_stack([X, Y]))
    data = path.read_bytes()
    for wrong in (data[:-8], data[:50], data + b"junk"):
        path.write_bytes(wrong)
        fails("cannot be read|longer than its header", path, target=-1)
    np.save(path, X)
    fails("which column is the label", path)
    fails("no column 7", path, target=7)
    np.save(path, np.array([[1, np.inf]]))
    fails("row 1: column 1 holds inf", path, target=0)
    np.save(path, np.array([object()]), allow_pickle=True)
    fails("cannot be read", path, target=0)
    np.save(path, np.arange(3))
    fails("two-dimensional", path, target=0)
    archive = tmp_path / "d.npz"
    np.savez(archive, X=X, y=Y)
    whole = bytearray(archive.read_bytes())
    whole[whole.index(X.tobytes()) + 3] ^= 1
    archive.write_bytes(bytes(whole))
    fails("damaged", archive)
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("X.npy", data[:-8])
        out.writestr("y.npy", data)
    fails("not as long as its header", archive)


def test_columns_of_npy_have_numbers(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    with open_stream(tmp_path / "a.npy", target="-1") as stream:
        assert next(stream).labels.tolist() == [2, 5]
    with pytest.raises(ValueError, match=r"target: columns of .npy have numbers, not names; got 'class'"):
        open_stream(tmp_path / "a.npy", target="class")


def test_a_missing_label_is_nan_where_none_is_needed(tmp_path):
    table = np.array([[1.0, np.nan], [2.0, 1.0]])
    np.save(tmp_path / "a.npy", table)
    np.savez(tmp_path / "a.npz", X=table[:, :1], y=table[:, 1])
    for name, options in (("a.npy", {"target": -1}), ("a.npz", {})):
        fails("nan, which is not a finite number", tmp_path / name, **options)
        values, labels, _ = read(tmp_path / name, labelled=False, **options)
        assert values.tolist() == [[1], [2]]
        np.testing.assert_array_equal(labels, [np.nan, 1])

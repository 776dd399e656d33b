"""xxl.sort_array and xxl.join_arrays."""

import math

import pytest
import xxl

np = pytest.importorskip("numpy")

INTEGERS = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"]
FLOATS = ["f2", "f4", "f8"]


def random_array(dtype, count, seed=1):
    """All bits are random: all NaNs, infinities, NaTs."""
    dtype = np.dtype(dtype)
    bits = np.random.default_rng(seed).bytes(count * dtype.itemsize)
    return np.frombuffer(bits, dtype=dtype).copy()


def same(a, b):
    """Equal, with NaNs equal and -0.0 equal to 0.0."""
    if a.dtype.kind in "fMm":
        return np.array_equal(a, b, equal_nan=True)
    return np.array_equal(a, b)


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 200_000])
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + ["M8[ns]", "m8[s]"])
def test_sorts_as_numpy(dtype, count):
    array = random_array(dtype, count)
    if dtype == "f8" and count > 10:
        array[::7] = -np.nan
        array[1::7] = np.nan
        array[2::7] = np.float64(0) * -1
    if dtype[0] in "Mm" and count > 10:
        array[::5] = "NaT"
    expected = np.sort(array)
    report = xxl.sort_array(array)
    assert same(array, expected)
    assert report.devices == (("cpu",) if count else report.devices)


def test_sorts_booleans_and_bytes():
    array = np.array([True, False, True])
    xxl.sort_array(array)
    assert array.tolist() == [False, True, True]
    words = np.array([b"b", b"abc", b"", b"ab\xff"])
    xxl.sort_array(words)
    assert words.tolist() == [b"", b"abc", b"ab\xff", b"b"]


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_descending(dtype):
    array = random_array(dtype, 1000)
    expected = np.sort(array)[::-1]
    xxl.sort_array(array, descending=True)
    assert same(array, expected)


@pytest.mark.parametrize("dtype", ["i4", "f2", "f8"])
def test_to_another_array(dtype):
    array = random_array(dtype, 1000)
    before = array.copy()
    out = np.empty_like(array)
    xxl.sort_array(array, out=out)
    assert array.tobytes() == before.tobytes()
    assert same(out, np.sort(before))


def test_no_bit_is_lost():
    for dtype in FLOATS:
        array = random_array(dtype, 5000)
        bits = np.sort(array.view(f"u{array.itemsize}"))
        xxl.sort_array(array)
        assert np.array_equal(np.sort(array.view(bits.dtype)), bits)


RECORD = np.dtype([("a", "i2"), ("b", "f4"), ("c", "S3"), ("d", "f2"), ("row", "u4")], align=True)


def records(count):
    rng = np.random.default_rng(2)
    array = np.zeros(count, RECORD)
    array["a"] = rng.integers(-3, 3, count)
    array["b"] = rng.choice(np.array([0.0, -1.5, np.inf, np.nan, -np.nan], "f4"), count)
    array["c"] = rng.choice(np.array([b"", b"x", b"xyz"]), count)
    array["d"] = rng.choice(np.array([1, -1, 0.5, np.nan], "f2"), count)
    array["row"] = np.arange(count)
    return array


def sort_key(value):
    """NaN above all others, those with a sign last."""
    return (1, math.copysign(1, value) < 0) if value != value else (0, value)


@pytest.mark.parametrize("by", [
    ["a"], "c", ["b", "a"], [("b", "desc"), ("c", "asc")], [("d", "desc"), ("a", "desc"), "b"],
    ["a", "a"], None,
])
def test_sorts_records_by_fields_and_keeps_equal_ones_in_order(by):
    array = records(3000)
    before = array.copy()
    xxl.sort_array(array, by=by)
    order = list(range(len(before)))
    fields = [by] if isinstance(by, str) else list(RECORD.names) if by is None else by
    for key in reversed(fields):
        field, word = (key, "asc") if isinstance(key, str) else key
        keys = [sort_key(value) for value in before[field].tolist()]
        order.sort(key=lambda i: keys[i], reverse=word == "desc")
    assert array["row"].tolist() == before["row"][order].tolist()
    for field in RECORD.names:
        assert array[field].tobytes() == before[field][order].tobytes()


def test_fields_of_bytes():
    array = np.zeros(3, [("digest", "u1", (4,)), ("raw", "V2")])
    array["digest"] = [[2, 0, 0, 0], [1, 255, 0, 0], [1, 2, 0, 0]]
    xxl.sort_array(array, by="digest")
    assert array["digest"][:, 1].tolist() == [2, 255, 0]


@pytest.mark.parametrize("array, message", [
    (np.arange(10)[::2], "not contiguous"),
    (np.arange(4).reshape(2, 2), "2 dimensions"),
    (np.arange(4, dtype=">i4"), "byte order"),
    (np.zeros(2, [("a", ">u2")]), "byte order"),
    (np.array([object()]), "objects"),
    (np.frombuffer(bytes(17), "u8", count=2, offset=1), "not aligned"),
    (np.zeros(2, "c16"), "complex128"),
    (np.zeros(2, "U3"), "<U3"),
    (np.zeros(2, np.longdouble), "float"),
    (np.zeros(2, [("a", "f4", (2,))]), "field 'a'"),
    (np.zeros(2, np.dtype([])), "no bytes"),
])
def test_arrays_that_cannot_be_sorted_are_refused(array, message):
    with pytest.raises(xxl.UsageError, match=message):
        xxl.sort_array(array)


def test_bad_arguments_of_sorts():
    array = np.arange(4)
    with pytest.raises(TypeError):
        xxl.sort_array([2, 1])
    with pytest.raises(TypeError, match="mask"):
        xxl.sort_array(np.ma.masked_array([2, 1], mask=[True, False]))
    with pytest.raises(xxl.UsageError, match="no fields"):
        xxl.sort_array(array, by="a")
    with pytest.raises(xxl.UsageError, match="out"):
        xxl.sort_array(array, out=np.empty(3, int))
    with pytest.raises(xxl.UsageError, match="out"):
        xxl.sort_array(array, out=np.empty(4, "f8"))
    with pytest.raises(xxl.UsageError):
        xxl.sort_array(array[:3], out=array[1:])
    with pytest.raises(xxl.UsageError):
        xxl.sort_array(array, device="abacus")
    with pytest.raises(xxl.UsageError):
        xxl.sort_array(array, gpus=[-1])
    with pytest.raises(xxl.UsageError, match="no field 'z'"):
        xxl.sort_array(records(3), by="z")
    with pytest.raises(xxl.UsageError):
        xxl.sort_array(records(3), by=[("a", "down")])
    array.flags.writeable = False
    with pytest.raises(xxl.UsageError, match="read-only"):
        xxl.sort_array(array)
    xxl.sort_array(array, out=np.empty_like(array))


def test_an_array_in_a_file_is_sorted_there(tmp_path):
    np.arange(1000)[::-1].tofile(tmp_path / "array")
    xxl.sort_array(np.memmap(tmp_path / "array", np.int64))
    assert np.array_equal(np.fromfile(tmp_path / "array", np.int64), np.arange(1000))


def test_gpus_that_are_asked_for_and_not_there_are_an_error():
    try:
        report = xxl.sort_array(np.arange(10), device="gpu")
    except xxl.Error as error:
        assert error.code == "device"
    else:
        assert "GPU" in report.devices[0]


def expected_join(left, right, how):
    pairs = []
    for i, a in enumerate(left):
        partners = [j for j, b in enumerate(right) if a == b]
        if how == "semi":
            pairs += [(i, -1)] if partners else []
        elif how == "anti":
            pairs += [] if partners else [(i, -1)]
        else:
            pairs += [(i, j) for j in partners]
            if not partners and how in ("left", "full"):
                pairs.append((i, -1))
    if how in ("right", "full"):
        pairs += [(-1, j) for j, b in enumerate(right) if b not in left]
    key = lambda pair: (left[pair[0]] if pair[0] >= 0 else right[pair[1]], pair)  # noqa: E731
    return sorted(pairs, key=key)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
@pytest.mark.parametrize("dtype", ["i4", "u8", "f8", "S2"])
def test_joins(how, dtype):
    rng = np.random.default_rng(3)
    left = rng.integers(0, 50, 60).astype(dtype)
    right = rng.integers(0, 60, 80).astype(dtype)
    join = xxl.join_arrays(left, right, how=how)
    rows = list(zip(join.left.tolist(), join.right.tolist()))
    assert rows == expected_join(left.tolist(), right.tolist(), how)
    assert join[0].dtype == np.int64 and join.report.devices
    matched = len(set(left.tolist()) & set(right.tolist()))
    assert (join.matched[0] > 0) == (matched > 0)


def test_joins_records_by_fields():
    left = np.array([(1, 2.5), (2, 0.5)], [("id", "i4"), ("x", "f8")])
    right = np.array([(7, 2), (8, 1), (9, 1)], [("y", "u2"), ("user", "i4")])
    places = xxl.join_arrays(left, right, left_on="id", right_on=["user"])
    assert [place.tolist() for place in places] == [[0, 0, 1], [1, 2, 0]]


def test_bad_joins_of_arrays():
    a = np.arange(3)
    with pytest.raises(xxl.UsageError, match="types"):
        xxl.join_arrays(a, a.astype("i4"))
    with pytest.raises(xxl.UsageError, match="types"):
        xxl.join_arrays(a.astype("M8[s]"), a.astype("M8[ns]"))
    with pytest.raises(xxl.UsageError):
        xxl.join_arrays(a, a, how="sideways")
    with pytest.raises(xxl.UsageError, match="float16"):
        xxl.join_arrays(a.astype("f2"), a.astype("f2"))
    with pytest.raises(xxl.UsageError):
        xxl.join_arrays(a, a, on="x")
    with pytest.raises(xxl.UsageError):
        xxl.join_arrays(records(2), records(2), on="a", left_on="a")
    with pytest.raises(TypeError):
        xxl.join_arrays(records(2), records(2), on=[("a", "desc")])

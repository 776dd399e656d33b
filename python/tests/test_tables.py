"""xxl.sort and xxl.join of tables of all libraries, and what comes back."""

import threading

import pytest
import xxl

pa = pytest.importorskip("pyarrow")

TABLE = {"key": [3, 1, None, 2, 1], "text": ["c", "a1", "n", "b", "a2"]}
BY_KEY = {"key": [1, 1, 2, 3, None], "text": ["a1", "a2", "b", "c", "n"]}


def sorted_dict(data, by="key", **options):
    return xxl.sort(data, by, memory="64M", **options).read_all().to_pydict()


# --- what is taken ---


class OnlyABatch:
    def __arrow_c_array__(self, requested_schema=None):
        return pa.table(TABLE).to_batches()[0].__arrow_c_array__(requested_schema)


class OnlyAStream:
    def __init__(self, exported=None):
        self.exported = exported or pa.table(TABLE).__arrow_c_stream__

    def __arrow_c_stream__(self, requested_schema=None):
        return self.exported()


@pytest.mark.parametrize("make", [
    lambda: pa.table(TABLE),
    lambda: pa.concat_tables([pa.table(TABLE).slice(i, 1) for i in range(5)]),
    lambda: pa.table(TABLE).to_batches()[0],
    lambda: pa.table(TABLE).to_reader(max_chunksize=2),
    OnlyABatch,
    OnlyAStream,
    lambda: xxl.sort(pa.table(TABLE), "text", memory="64M"),
    lambda: next(xxl.sort(pa.table(TABLE), "text", memory="64M")),
], ids=["table", "chunks and slices", "batch", "reader", "only a batch", "only a stream", "what it gave",
        "a batch that it gave"])
def test_sorts(make):
    assert sorted_dict(make()) == BY_KEY


def test_all_that_is_given_has_a_representation():
    stream = xxl.sort(pa.table(TABLE), "text", memory="64M")
    assert repr(stream).startswith("<xxl._core.Stream")
    batch = next(stream)
    assert repr(batch) == str(batch) == f"<xxl.Batch num_rows={len(TABLE['text'])}>"


def test_sorts_a_polars_frame_and_gives_one():
    polars = pytest.importorskip("polars")
    result = polars.DataFrame(xxl.sort(polars.DataFrame(TABLE), "key", memory="64M"))
    assert result.to_dict(as_series=False) == BY_KEY
    # A column of nulls; and rows that are sorted in slices.
    rows = range(200_000, 0, -1)
    frame = polars.DataFrame({"key": list(rows), "nothing": [None] * len(rows)})
    assert frame.n_chunks() == 1
    assert polars.DataFrame(xxl.sort(frame, "key", memory="64M")).equals(frame.reverse())


def test_sorts_a_pandas_frame_and_gives_one():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"key": [3, 1, 2], "text": ["c", "a", "b"]})
    result = xxl.sort(frame, "key", memory="64M").read_all().to_pandas()
    assert result["text"].tolist() == ["a", "b", "c"]


def test_sorts_a_relation_of_duckdb_and_gives_it_one():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    relation = connection.sql("select range % 7 as key, range as value from range(1000)")
    result = xxl.sort(relation, ["key", ("value", "desc")], memory="64M")
    assert isinstance(result, xxl.Stream)
    rows = connection.sql("select * from result").fetchall()
    assert rows == sorted(((i % 7, i) for i in range(1000)), key=lambda row: (row[0], -row[1]))


def test_refuses_what_is_no_table():
    with pytest.raises(TypeError, match="list is no table"):
        xxl.sort([1, 2], "key")
    with pytest.raises(xxl.Error):
        xxl.sort(pa.array([1, 2]), "key", memory="64M")


# --- keys and options ---


def test_sorts_by_several_keys():
    table = pa.table({"a": [1, 2, 1, None], "b": [1, 2, None, 4]})
    result = sorted_dict(table, [("a", "desc"), ("b", "nulls_first")])
    assert result == {"a": [2, 1, 1, None], "b": [2, None, 1, 4]}
    result = sorted_dict(table, [("a", "desc", "nulls_first"), ("b", "asc", "nulls_last")])
    assert result == {"a": [None, 2, 1, 1], "b": [4, 2, 1, None]}


@pytest.mark.parametrize("by, message", [
    ([], "no column"),
    ([("key", "down")], "'down'"),
    ([("key", "asc", "desc")], "contradicts"),
    (["nothing"], "nothing"),
])
def test_bad_keys_are_usage_errors(by, message):
    with pytest.raises(xxl.UsageError, match=message) as caught:
        xxl.sort(pa.table(TABLE), by, memory="64M")
    assert caught.value.code == "usage"
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, xxl.Error)
    with pytest.raises(TypeError, match="list"):
        xxl.sort(pa.table(TABLE), ("key", "desc"))


def test_limit_and_unique():
    assert sorted_dict(pa.table(TABLE), limit=2)["text"] == ["a1", "a2"]
    assert sorted_dict(pa.table(TABLE), limit=0)["text"] == []
    assert sorted_dict(pa.table(TABLE), unique=True)["text"] == ["a1", "b", "c", "n"]


def test_batches_have_at_most_batch_rows():
    stream = xxl.sort(pa.table({"a": list(range(1000))}), "a", memory="64M", batch_rows=64)
    lengths = [len(batch) for batch in stream]
    assert sum(lengths) == 1000 and max(lengths) <= 64


@pytest.mark.parametrize("option", [
    {"memory": 0}, {"memory": "many"}, {"memory": -1}, {"threads": 0}, {"threads": 1 << 20},
    {"limit": -1}, {"batch_rows": 0}, {"memory": 1 << 70},
])
def test_numbers_that_are_none_are_refused(option):
    with pytest.raises(xxl.UsageError):
        xxl.sort(pa.table(TABLE), "key", **option)


def test_sizes_are_those_of_the_command_line():
    core = xxl._core
    assert core.parse_size("512M", "memory") == 512 << 20
    assert core.parse_size("1024", "memory") == 1 << 20
    assert xxl._arguments.size(1 << 20, "memory") == 1 << 20
    with pytest.raises(TypeError):
        xxl._arguments.size(True, "memory")


def test_scratch_may_be_several_folders(tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    assert sorted_dict(pa.table(TABLE), scratch=folders, threads=1) == BY_KEY


def test_schemas_keep_metadata_and_nullability():
    field = pa.field("key", pa.int64(), nullable=False, metadata={"unit": "m"})
    schema = pa.schema([field], metadata={"source": "test", "empty": ""})
    for keys in ([2, 1], []):
        table = pa.table({"key": keys}, schema=schema)
        result = xxl.sort(table, "key", memory="64M").read_all()
        assert result.num_rows == len(keys) and result.schema.equals(schema, check_metadata=True)
        assert pa.schema(xxl.sort(table, "key", memory="64M")).equals(schema, check_metadata=True)


# --- streams ---


def test_a_stream_is_read_batch_by_batch():
    stream = xxl.sort(pa.table(TABLE), "key", memory="64M", batch_rows=2)
    batches = list(stream)
    assert all(isinstance(batch, xxl.Batch) for batch in batches)
    assert [batch.num_rows for batch in batches] == [2, 2, 1]
    table = pa.Table.from_batches([pa.record_batch(batch) for batch in batches])
    assert table.to_pydict() == BY_KEY


def test_a_batch_may_be_handed_over_again_and_outlives_its_stream():
    stream = xxl.sort(pa.table(TABLE), "key", memory="64M")
    batch = next(stream)
    del stream
    first, second = pa.record_batch(batch), pa.record_batch(batch)
    del batch
    assert first.equals(second) and first.to_pydict() == BY_KEY


@pytest.mark.parametrize("read", [pa.table, xxl.Stream.read_all])
def test_a_stream_is_read_once(read):
    stream = xxl.sort(pa.table(TABLE), "key", memory="64M")
    assert read(stream).to_pydict() == BY_KEY
    for use in (stream.read_all, stream.__arrow_c_stream__, lambda: list(stream)):
        with pytest.raises(xxl.UsageError, match="once"):
            use()
    with pytest.raises(xxl.UsageError if read is pa.table else StopIteration):
        next(stream)


def test_a_stream_that_is_being_read_is_not_handed_over():
    stream = xxl.sort(pa.table(TABLE), "key", memory="64M", batch_rows=1)
    next(stream)
    with pytest.raises(xxl.UsageError):
        stream.__arrow_c_stream__()


def test_a_closed_stream_gives_nothing():
    stream = xxl.sort(pa.table(TABLE), "key", memory="64M")
    stream.close()
    stream.close()
    with pytest.raises(xxl.UsageError, match="closed"):
        next(stream)
    with xxl.sort(pa.table(TABLE), "key", memory="64M") as other:
        next(other)
    with pytest.raises(xxl.UsageError, match="closed"):
        other.read_all()


def test_a_requested_schema_is_accepted_and_ignored():
    stream = xxl.sort(pa.table(TABLE), "key", memory="64M")
    capsule = stream.__arrow_c_stream__(pa.schema([("key", pa.int8())]).__arrow_c_schema__())
    assert pa.RecordBatchReader._import_from_c_capsule(capsule).read_all().to_pydict() == BY_KEY


def test_a_capsule_that_nobody_takes_is_released():
    xxl.sort(pa.table(TABLE), "key", memory="64M").__arrow_c_stream__()
    next(xxl.sort(pa.table(TABLE), "key", memory="64M")).__arrow_c_array__()


def test_streams_are_made_by_sorts_and_joins_only():
    with pytest.raises(TypeError):
        xxl.Stream()


def test_a_consumer_may_read_on_another_thread():
    stream = xxl.sort(pa.table(TABLE), "key", memory="64M")
    results = []
    thread = threading.Thread(target=lambda: results.append(pa.table(stream).to_pydict()))
    thread.start()
    thread.join()
    assert results == [BY_KEY]


# --- failures of producers ---


def failing_reader(error):
    def batches():
        yield pa.table(TABLE).to_batches()[0]
        raise error

    return pa.RecordBatchReader.from_batches(pa.table(TABLE).schema, batches())


def test_both_ways_to_join():
    left = pa.table({"key": [3, 1, None, 2, 1], "a": list("abcde")})
    right = pa.table({"key": [1, 2, 4, 1], "b": list("wxyz")})
    by_hash = xxl.join(left, right, on="key", how="full", memory="64M").read_all().to_pylist()
    assert [row["a"] for row in by_hash] == ["a", "b", "b", "c", "d", "e", "e", None]
    merged = xxl.join(left, right, on="key", how="full", method="sort-merge", memory="64M").read_all()
    assert [key for key in merged["key"].to_pylist() if key is not None] == [1, 1, 1, 1, 2, 3, 4]
    assert sorted(map(str, by_hash)) == sorted(map(str, merged.to_pylist()))
    with pytest.raises(xxl.UsageError, match="method is 'auto', 'hash' or 'sort-merge', not 'loop'"):
        xxl.join(left, right, on="key", method="loop")


def test_a_left_table_is_read_while_the_result_is():
    right = pa.table({"key": list(range(5000))})
    read = []

    def batches():
        for number in range(300):
            read.append(number)
            yield pa.record_batch({"key": list(range(5000))})

    left = pa.RecordBatchReader.from_batches(pa.schema({"key": pa.int64()}), batches())
    with xxl.join(left, right, on="key", memory="64M") as stream:
        assert len(next(stream)) > 0
        assert len(read) < 300
    with pytest.raises(xxl.UsageError, match="closed"):
        next(stream)


def test_what_producers_raise_is_raised():
    def failing():
        return failing_reader(ValueError("the producer failed"))

    with pytest.raises(xxl.Error, match="the producer failed") as caught:
        xxl.sort(failing(), "key", memory="64M")
    assert caught.value.code == "io"
    for left, right in [(failing(), pa.table(TABLE)), (pa.table(TABLE), failing())]:
        with pytest.raises(xxl.Error, match="the producer failed"):
            xxl.join(left, right, on="key", memory="64M").read_all()
    with pytest.raises(ZeroDivisionError):
        xxl.sort(OnlyAStream(lambda: 1 / 0), "key")


@pytest.mark.parametrize("capsule", [None, 7, "text", object()])
def test_what_is_no_capsule_is_refused(capsule):
    with pytest.raises(xxl.UsageError, match="capsule"):
        xxl.sort(OnlyAStream(lambda: capsule), "key")


def test_a_used_capsule_is_refused():
    capsule = pa.table(TABLE).__arrow_c_stream__()
    assert sorted_dict(OnlyAStream(lambda: capsule)) == BY_KEY
    with pytest.raises(xxl.UsageError, match="used already"):
        xxl.sort(OnlyAStream(lambda: capsule), "key")


# --- progress ---


def test_progress_of_a_table_in_memory_has_a_total(totals_while_forming_runs):
    def sort(rows, progress):
        table = pa.table({"a": range(rows, 0, -1), "b": ["text"] * rows})
        xxl.sort(table, "a", memory="64M", progress=progress).close()

    totals = totals_while_forming_runs(500_000, sort)
    assert totals and all(0 < done <= total for done, total in totals)


def test_errors_of_long_rows_have_no_place():
    table = pa.table({"a": ["x" * 20_000_000, "y"]})
    with pytest.raises(xxl.Error, match=r"^a record of .*too long for memory= .*: give at least memory=\d+M$") as caught:
        xxl.sort(table, "a", memory="16M").read_all()
    assert (caught.value.code, caught.value.path, caught.value.offset) == ("no_space", None, None)


def test_progress_is_told():
    told = []
    table = pa.table({"a": list(range(100_000))})
    xxl.sort(table, "a", memory="64M", progress=lambda *state: told.append(state)).read_all()
    assert told
    assert all(isinstance(phase, str) and isinstance(done, int) and isinstance(total, int)
               for phase, done, total in told)


def test_what_progress_raises_ends_the_sort():
    with pytest.raises(ZeroDivisionError):
        xxl.sort(pa.table(TABLE), "key", memory="64M", progress=lambda *state: 1 / 0)
    with pytest.raises(TypeError):
        xxl.sort(pa.table(TABLE), "key", progress=7)


# --- joins ---

LEFT = {"id": [1, 2, None, 3], "name": ["a", "b", "n", "c"]}
RIGHT = {"id": [3, 1, 3, None, 9], "name": ["x", "y", "z", "m", "w"]}


@pytest.mark.parametrize("how, rows", [
    ("inner", [(1, "a", "y"), (3, "c", "x"), (3, "c", "z")]),
    ("left", [(1, "a", "y"), (2, "b", None), (3, "c", "x"), (3, "c", "z"), (None, "n", None)]),
    ("right", [(1, "a", "y"), (3, "c", "x"), (3, "c", "z"), (9, None, "w"), (None, None, "m")]),
    ("full", [(1, "a", "y"), (2, "b", None), (3, "c", "x"), (3, "c", "z"), (9, None, "w"),
              (None, None, "m"), (None, "n", None)]),
    ("semi", [(1, "a"), (3, "c")]),
    ("anti", [(2, "b"), (None, "n")]),
])
def test_joins(how, rows):
    stream = xxl.join(pa.table(LEFT), pa.table(RIGHT), on="id", how=how, memory="64M")
    table = stream.read_all()
    assert table.column_names == ["id", "name", "name_right"][:len(rows[0])]
    found = list(zip(*table.to_pydict().values()))
    assert sorted(found, key=repr) == sorted(rows, key=repr)


def test_joins_on_columns_of_other_names():
    right = pa.table({"user": [1, 1], "name": ["p", "q"]})
    stream = xxl.join(pa.table(LEFT), right, left_on=["id"], right_on=["user"], suffix="2",
                      memory="64M")
    assert stream.read_all().to_pydict() == {"id": [1, 1], "name": ["a", "a"], "name2": ["p", "q"]}


def test_joins_a_table_in_memory_with_a_reader():
    stream = xxl.join(pa.table(LEFT), pa.table(RIGHT).to_reader(), on="id", memory="64M")
    assert stream.read_all().num_rows == 3


@pytest.mark.parametrize("options", [
    {}, {"left_on": "id"}, {"on": "id", "left_on": "id"}, {"left_on": ["id", "name"],
                                                         "right_on": "id"},
    {"on": []}, {"on": "id", "how": "sideways"}, {"on": "nothing"},
])
def test_bad_joins_are_usage_errors(options):
    with pytest.raises(xxl.UsageError):
        xxl.join(pa.table(LEFT), pa.table(RIGHT), memory="64M", **options)


def test_version():
    assert xxl.__version__.count(".") == 2

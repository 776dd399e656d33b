"""Types of columns of Parquet that are more than those of Arrow, in sort_parquet and join_parquet."""

import datetime
import os

import pytest
import xxl

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.usefixtures("in_folder")

MEMORY = "128M"
FAR = [datetime.datetime(9999, 12, 31), datetime.datetime(1, 1, 1), None,
       datetime.datetime(1500, 1, 1, microsecond=7), datetime.datetime(2020, 1, 1)]


def sort(inputs, by):
    xxl.sort_parquet(inputs, "out.parquet", by, memory=MEMORY)
    return pq.read_table("out.parquet")


def stored(name):
    schema = pq.ParquetFile(name).schema
    columns = [schema.column(i) for i in range(len(schema.names))]
    return [(column.path, column.physical_type, str(column.logical_type)) for column in columns]


# --- timestamps of 96 bits ---


def write_int96(name, times, unit="us"):
    table = pa.table({"t": pa.array(times, pa.timestamp(unit)), "row": range(len(times)),
                      "l": pa.array([[time] for time in times], pa.list_(pa.timestamp(unit)))})
    pq.write_table(table, name, use_deprecated_int96_timestamps=True)


def test_int96_that_nanoseconds_hold_stays():
    write_int96("in.parquet", [1577836800123456789, -1, None], "ns")
    result = sort("in.parquet", "t")
    assert result["t"].cast(pa.int64()).to_pylist() == [-1, 1577836800123456789, None]
    assert stored("out.parquet") == stored("in.parquet")


@pytest.mark.parametrize("by, order", [
    ("t", [1, 3, 4, 0, 2]), (("t", "desc"), [0, 4, 3, 1, 2]), ("row", range(5)),
])
def test_int96_that_they_do_not_hold_becomes_microseconds(by, order):
    write_int96("in.parquet", FAR)
    result = sort("in.parquet", [by])
    assert result["t"].to_pylist() == [FAR[i] for i in order]
    assert result["l"].to_pylist() == [[FAR[i]] for i in order]
    assert result.schema.field("t").type == pa.timestamp("us")


def test_int96_of_several_files_has_one_unit():
    write_int96("a.parquet", [datetime.datetime(2020, 1, 2)])
    write_int96("b.parquet", FAR)
    times = sorted(time for time in [*FAR, datetime.datetime(2020, 1, 2)] if time)
    assert sort(["a.parquet", "b.parquet"], "t")["t"].to_pylist() == [*times, None]


def test_int96_that_no_unit_holds_is_refused():
    write_int96("far.parquet", FAR)
    write_int96("fine.parquet", [1], "ns")
    with pytest.raises(xxl.UsageError, match=r"far.parquet: column .* and fine.parquet: column"):
        sort(["far.parquet", "fine.parquet"], "t")


def test_int96_is_joined():
    write_int96("in.parquet", FAR)
    xxl.join_parquet("in.parquet", "in.parquet", "out.parquet", on="t", memory=MEMORY)
    result = pq.read_table("out.parquet")
    assert sorted(result["t"].to_pylist()) == sorted(time for time in FAR if time)
    assert [[time] for time in result["t"].to_pylist()] == result["l_right"].to_pylist()


# --- directories that are columns ---


@pytest.mark.parametrize("inputs", [
    "log", "log/*/*.parquet", "log/city=A/a.parquet", ["plain.parquet", "log/city=A"],
])
def test_directories_that_are_columns_are_refused(inputs):
    os.makedirs("log/city=A")
    for name in ("log/city=A/a.parquet", "plain.parquet"):
        pq.write_table(pa.table({"k": [1]}), name)
    with pytest.raises(xxl.UsageError, match=r"a.parquet: the directory city=A .* column 'city'"):
        sort(inputs, "k")
    with pytest.raises(xxl.UsageError, match="city=A"):
        xxl.join_parquet("plain.parquet", inputs, "out.parquet", on="k", memory=MEMORY)
    assert not os.path.exists("out.parquet")


def test_directories_of_columns_that_files_have_are_read():
    os.makedirs("log/City=A")
    pq.write_table(pa.table({"k": [1], "city": ["A"]}), "log/City=A/a.parquet")
    assert sort("log", "k")["city"].to_pylist() == ["A"]


# --- types that Arrow does not tell ---


def write_by_duckdb(columns, name="in.parquet"):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.sql(f"COPY (SELECT {columns}) TO '{name}' (FORMAT parquet)")


def test_logical_types_stay():
    write_by_duckdb("1 k, uuid() u, '{}'::JSON j, '10:00:00+02'::TIMETZ t, 1.5::DECIMAL(4, 1) d, "
                    "{'u': uuid(), 't': '10:00:00+02'::TIMETZ} s, DATE '2020-01-01' da")
    before = pq.read_table("in.parquet")
    assert sort("in.parquet", "k").equals(before)

    def logical(name):
        return {path: kind for path, _, kind in stored(name) if not kind.startswith("Int")}
    kept = logical("in.parquet")
    assert {path: kind for path, kind in logical("out.parquet").items() if path in kept} == kept


@pytest.mark.parametrize("columns, message", [
    ("1 k, INTERVAL 1 DAY i", "column 'i' is of the type Interval"),
    ("1 k, {'a': [INTERVAL 1 DAY]} s", "column 's.a.list.element' is of the type Interval"),
    ("1 k, {'a': 1}::VARIANT v", "column 'v' is of the type Variant"),
    ("1 k, '10:00:00+02'::TIMETZ z, '10:00:00'::TIME t", "times in UTC"),
])
def test_types_that_pyarrow_does_not_write_are_refused(columns, message):
    write_by_duckdb(columns)
    with pytest.raises(xxl.UsageError, match=message):
        sort("in.parquet", "k")


def test_types_of_all_files_must_be_the_same():
    write_by_duckdb("1 k, '10:00:00+02'::TIMETZ t", "a.parquet")
    write_by_duckdb("1 k, '10:00:00'::TIME t", "b.parquet")
    with pytest.raises(xxl.UsageError, match=r"b.parquet: .*'t' is Time.*false.*not Time.*true"):
        sort(["a.parquet", "b.parquet"], "k")


# --- orders of dictionaries ---


def levels(values, dictionary=("lo", "mid", "hi", "max")):
    indices = [None if value is None else dictionary.index(value) for value in values]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), list(dictionary),
                                          ordered=True)


def test_ordered_dictionaries_are_sorted_in_their_order():
    table = pa.table({"e": levels(["hi", "lo", None, "mid"]), "row": range(4)})
    pq.write_table(table, "in.parquet")
    result = sort("in.parquet", "e")
    assert result["e"].to_pylist() == ["lo", "mid", "hi", None]
    assert result["e"].chunk(0).dictionary.to_pylist() == ["lo", "mid", "hi", "max"]
    assert result.schema.field("e").type.ordered
    assert sort("in.parquet", [("e", "desc")])["e"].to_pylist() == ["hi", "mid", "lo", None]
    sort("in.parquet", ["row", "e"])
    assert pq.read_metadata("out.parquet").row_group(0).sorting_columns == (pq.SortingColumn(1),)
    for by in ("e", ("e", "desc")):
        expected = ["lo", "mid", "hi"] if by == "e" else ["hi", "mid", "lo"]
        in_memory = xxl.sort(table, [by], memory="64M").read_all()
        assert in_memory["e"].to_pylist() == [*expected, None]


def test_ordered_dictionaries_whose_order_is_not_stored():
    pq.write_table(pa.table({"e": levels(["hi", "lo"]), "row": range(2)}), "in.parquet",
                   use_dictionary=False)
    with pytest.raises(xxl.UsageError, match="column e: it is a dictionary in an order of its own"):
        sort("in.parquet", "e")
    result = sort("in.parquet", "row")
    assert result["e"].to_pylist() == ["hi", "lo"]
    assert result.schema.equals(pq.read_schema("in.parquet"), check_metadata=True)


def test_enums_of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"e": ["hi", "lo", "mid"]},
                             schema={"e": polars.Enum(["lo", "mid", "hi", "max"])})
    frame.write_parquet("in.parquet")
    sort("in.parquet", "e")
    for result in (polars.read_parquet("out.parquet"),
                   polars.DataFrame(xxl.sort(frame, "e", memory="64M"))):
        assert result["e"].to_list() == ["lo", "mid", "hi"]
        assert result.schema == frame.schema


def test_ordered_categories_of_pandas():
    pandas = pytest.importorskip("pandas")
    column = pandas.Categorical(["hi", "lo", "mid"], ["lo", "mid", "hi"], ordered=True)
    frame = pandas.DataFrame({"e": column})
    result = xxl.sort(frame, "e", memory="64M").read_all().to_pandas()
    assert list(result["e"]) == ["lo", "mid", "hi"]
    assert result["e"].dtype == frame["e"].dtype


def test_enums_of_duckdb_are_refused_as_keys():
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.sql("CREATE TYPE level AS ENUM ('lo', 'mid', 'hi')")
        relation = connection.sql("SELECT 'hi'::level e, 1 k UNION ALL SELECT 'lo'::level, 0")
        with pytest.raises(xxl.UsageError, match="column e is an ENUM, .*enum_code"):
            xxl.sort(relation, "e")
        assert xxl.sort(relation, "k", memory="64M").read_all()["e"].to_pylist() == ["lo", "hi"]

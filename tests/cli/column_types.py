"""Types of columns that are more than those of Arrow: what they say is kept, or an error."""

import datetime

from column_tables import read, take, write
from columns_case import ColumnsTest

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None

# A column of each type of DuckDB.
ALL_TYPES = """SELECT i::BIGINT k, ('00000000-0000-0000-0000-00000000000' || i)::UUID u, ('{"a":' || i || '}')::JSON j,
    to_days(i::INT) iv, ('12:00:0' || i || '+02')::TIMETZ tz, ('12:00:0' || i)::TIME t, 'abc'::BLOB b,
    TIMESTAMP '2020-01-01' ts, TIMESTAMPTZ '2020-01-01' tstz, '2020-01-01'::TIMESTAMP_MS tsms,
    '2020-01-01'::TIMESTAMP_NS tsns, 1::UTINYINT u1, 1::USMALLINT u2, 1::UINTEGER u4, 1::UBIGINT u8, 1::TINYINT i1,
    1::SMALLINT i2, i::INTEGER i4, 1.5::DECIMAL(4, 1) d4, 1.5::DECIMAL(18, 1) d18, 1.5::DECIMAL(38, 1) d38,
    true bo, 1.5::FLOAT f, 1.5::DOUBLE d, [1, 2] l, {'a': 1, 'b': [INTERVAL 1 DAY], 'c': TIMETZ '10:00:00+00'} s,
    MAP {'k': '{}'::JSON} m, DATE '2020-01-01' da FROM range(5) r(i)"""


def leaves(path):
    """The columns of a file by name: how they are stored, and their logical type."""
    schema = pq.ParquetFile(path).schema
    columns = [schema.column(i) for i in range(len(schema.names))]
    return {column.path: (column.physical_type, column.length, str(column.logical_type),
                          column.max_definition_level) for column in columns}


def rows(path, order):
    with duckdb.connect() as database:
        return database.sql(f"DESCRIBE FROM '{path}'").fetchall(), database.sql(f"FROM '{path}' ORDER BY {order}").fetchall()


class Types(ColumnsTest):
    maxDiff = None

    def all_types(self):
        path = self.root / "all.parquet"
        with duckdb.connect() as database:
            database.sql(f"COPY ({ALL_TYPES}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
        return path

    def test_stay_what_they_were_in_a_sort(self):
        source = self.all_types()
        for key in ("k:desc", "u", "tz", "j", "d4", "s"):
            target = self.out / "out.parquet"
            done = self.run_xxl("--record=parquet", f"--key={key}", source, "-o", target)
            if key == "s":
                self.assert_fails(done, "column s: .*no order")
                continue
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(leaves(target), leaves(source))
            self.assertEqual(rows(target, "k"), rows(source, "k"))

    def test_stay_what_they_were_in_a_join(self):
        source = self.all_types()
        stored = leaves(source)
        for how in ("inner", "left", "full", "semi"):
            for method in ("hash", "sort-merge"):
                self.join(source, source, "--key=k", "--key=u", f"--how={how}", f"--method={method}")
                of_joined = leaves(self.out / "out.parquet")
                expected = dict(stored)
                if how != "semi":
                    expected |= {name.replace(".", "_right.", 1) if "." in name else f"{name}_right": leaf
                                 for name, leaf in stored.items() if name not in ("k", "u")}
                self.assertEqual({name: leaf[:3] for name, leaf in of_joined.items()},
                                 {name: leaf[:3] for name, leaf in expected.items()})

    def test_of_keys_that_are_joined_may_become_wider(self):
        r, s = self.root / "r.parquet", self.root / "s.parquet"
        with duckdb.connect() as database:
            database.sql(f"COPY (SELECT 7::TINYINT k, 1.5::DECIMAL(4, 1) d) TO '{r}'")
            database.sql(f"COPY (SELECT * FROM (VALUES (7::INTEGER, 1.5::DECIMAL(9, 1)), (300, 99999999.5)) t(k, d)) TO '{s}'")
        self.assertEqual(self.join(r, s, "--key=k", "--how=full")["k"].to_pylist(), [7, 300])
        joined = self.join(r, s, "--key=d", "--how=full")
        self.assertEqual([str(value) for value in joined["d"].to_pylist()], ["1.5", "99999999.5"])
        self.assertEqual(leaves(self.out / "out.parquet")["d"][2], "Decimal(precision=9, scale=1)")

    def test_old_annotations_stay(self):
        """Of files of format 1.0, which have no logical types."""
        source = self.root / "in.parquet"
        pq.write_table(pa.table({"k": pa.array([2, 1], pa.timestamp("us"))}), source, version="1.0")
        self.sort(source, "--key=k")
        self.assertEqual(leaves(self.out / "out.parquet"), leaves(source))

    def test_field_ids_metadata_and_names_of_nested_columns_stay(self):
        inner = pa.struct([pa.field("x", pa.time64("us"), metadata={"PARQUET:field_id": "5", "unit": "m"})])
        fields = [pa.field("k", pa.int32(), metadata={"PARQUET:field_id": "3"}), pa.field("s", inner)]
        table = pa.table([pa.array([2, 1], pa.int32()), pa.array([{"x": None}, {"x": datetime.time(1)}], inner)],
                         schema=pa.schema(fields, {"who": "a test"}))
        source = write(table, self.root / "in.parquet")
        result = self.sort(source, "--key=k")
        self.assertTrue(result.schema.equals(pq.read_schema(source), check_metadata=True))
        for path in (source, self.out / "out.parquet"):
            with duckdb.connect() as database:
                ids = database.sql(f"SELECT name, field_id FROM parquet_schema('{path}') WHERE field_id IS NOT NULL")
                self.assertEqual(ids.fetchall(), [("k", 3), ("x", 5)])
        self.assertNotIn(b"xxl", self.out.joinpath("out.parquet").read_bytes())

    def test_intervals_are_no_keys(self):
        done = self.run_xxl("--record=parquet", "--key=iv", self.all_types(), "-o", self.out / "out.parquet")
        self.assert_fails(done, "column iv: values of the type INTERVAL have no order")

    def test_of_all_files_are_the_same(self):
        paths = [self.root / "a.parquet", self.root / "b.parquet"]
        with duckdb.connect() as database:
            for path, type_ in zip(paths, ("TIMETZ", "TIME")):
                database.sql(f"COPY (SELECT 1 k, '10:00:00'::{type_} t) TO '{path}'")
        done = self.run_xxl("--record=parquet", "--key=k", *paths, "-o", self.out / "out.parquet")
        self.assert_fails(done, r"b\.parquet: column 't' has the logical type Time\(isAdjustedToUTC=false.*true.*a\.parquet")


def utc(year, month=1, day=1, microsecond=0):
    return datetime.datetime(year, month, day, 0, 0, 0, microsecond)


class Int96(ColumnsTest):
    NEAR = [utc(2020), utc(1969, 12, 31, 999999), None, utc(1700)]
    FAR = [utc(9999, 12, 31), utc(1), utc(2262, 6), utc(1500, microsecond=7), None, utc(2020)]

    def write(self, values, name="in.parquet", unit="us"):
        table = pa.table({"t": pa.array(values, pa.timestamp(unit)), "row": list(range(len(values))),
                          "l": pa.array([[value] for value in values], pa.list_(pa.timestamp(unit)))})
        pq.write_table(table, self.root / name, use_deprecated_int96_timestamps=True)
        return self.root / name

    def micros(self, path, column="t"):
        return pq.read_table(path, coerce_int96_timestamp_unit="us")[column].to_pylist()

    def test_that_nanoseconds_hold_stay_what_they_are(self):
        nanos = [1577836800123456789, -1, None, 5]
        self.write(nanos, unit="ns")
        for key, order in (("t", [1, 3, 0, 2]), ("row", [0, 1, 2, 3])):
            result = self.sort(self.root / "in.parquet", f"--key={key}")
            self.assertEqual(result["t"].cast(pa.int64()).to_pylist(), [nanos[i] for i in order])
            self.assertEqual(leaves(self.out / "out.parquet"), leaves(self.root / "in.parquet"))

    def test_that_they_do_not_hold_become_microseconds(self):
        source = self.write(self.FAR)
        for key, order in (("t", [1, 3, 5, 2, 0, 4]), ("t:desc", [0, 2, 5, 3, 1, 4]), ("row", range(6))):
            result = self.sort(source, f"--key={key}")
            self.assertEqual(result["t"].to_pylist(), [self.FAR[i] for i in order])
            self.assertEqual(result["l"].to_pylist(), [[self.FAR[i]] for i in order])
            self.assertEqual(result.schema.field("t").type, pa.timestamp("us"))
            with duckdb.connect() as database:
                found = database.sql(f"SELECT t FROM '{self.out / 'out.parquet'}'").fetchall()
            self.assertEqual(found, [(self.FAR[i],) for i in order])

    def test_in_one_of_several_files(self):
        near, far = self.write(self.NEAR, "a.parquet"), self.write(self.FAR, "b.parquet")
        target = self.out / "out.parquet"
        done = self.run_xxl("--record=parquet", "--key=t", near, far, "-o", target)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(read(target)["t"].to_pylist(),
                         sorted(v for v in self.NEAR + self.FAR if v) + [None, None])

    def test_joined(self):
        source = self.write(self.FAR)
        for method in ("hash", "sort-merge"):
            result = self.join(source, source, "--key=t", f"--method={method}")
            self.assertEqual(sorted(result["t"].to_pylist()), sorted(v for v in self.FAR if v))
            self.assertEqual([[v] for v in result["t"].to_pylist()], result["l_right"].to_pylist())

    def test_that_is_damaged_is_named(self):
        pq.write_table(pa.table({"t": pa.array(range(10_000), pa.timestamp("us"))}), self.root / "in.parquet", compression="none",
                       use_dictionary=False, use_deprecated_int96_timestamps=True, write_page_checksum=True)
        damaged = bytearray((self.root / "in.parquet").read_bytes())
        damaged[len(damaged) // 2] ^= 0xFF
        (self.root / "in.parquet").write_bytes(damaged)
        done = self.run_xxl("--record=parquet", "--key=t", self.root / "in.parquet", "-o", self.out / "out.parquet")
        self.assert_fails(done, r"in\.parquet: row group 0: column t: .*checksum")

    def test_that_no_unit_holds_is_an_error(self):
        far = self.write([utc(9999, 12, 31)], "far.parquet")
        fine = self.write([1577836800123456789], "fine.parquet", unit="ns")
        done = self.run_xxl("--record=parquet", "--key=row", far, fine, "-o", self.out / "out.parquet")
        self.assert_fails(done, r"far\.parquet: column (t|l.list.element) has times before 1677 or after 2262.*fine\.parquet: column")


class Directories(ColumnsTest):
    """Those whose names are columns to other programs."""

    def setUp(self):
        super().setUp()
        for name, suffix in (("city=A", "parquet"), ("city=B", "parquet"), ("city=A", "arrow")):
            (self.root / "log" / name).mkdir(parents=True, exist_ok=True)
            write(pa.table({"k": [2, 1]}), self.root / "log" / name / f"1.{suffix}")
        write(pa.table({"k": [2, 1]}), self.root / "plain.parquet")

    def test_are_refused(self):
        log, plain = self.root / "log", self.root / "plain.parquet"
        message = r"1\.(parquet|arrow): the directory city=A stands for a column 'city', which the file does not have"
        for record, inputs in [("parquet", [f"{log}/*/*.parquet"]), ("parquet", [log]), ("parquet", [log / "city=A"]),
                               ("parquet", [plain, log / "city=A" / "1.parquet"]), ("arrow", [log]),
                               ("arrow", [f"{log}/*/*.arrow"])]:
            done = self.run_xxl(f"--record={record}", "--key=k", *inputs, "-o", self.out / "out.parquet")
            self.assert_fails(done, message)
        for pair in ([plain, log], [log, plain]):
            done = self.run_command("join", "--record=parquet", "--key=k", *pair, f"--output={self.out / 'out.parquet'}")
            self.assert_fails(done, message)

    def test_of_columns_that_the_files_have_are_nothing_special(self):
        for value in "AB":
            path = self.root / "whole" / "x" / f"City={value}" / "1.parquet"
            path.parent.mkdir(parents=True)
            write(pa.table({"k": [1], "city": [value]}), path)
        result = self.sort(self.root / "whole" / "x" / "City=A" / "1.parquet", "--key=k")
        self.assertEqual(result["city"].to_pylist(), ["A"])
        target = self.out / "out.parquet"
        self.assertEqual(self.run_xxl("--record=parquet", "--key=city:desc", self.root / "whole", "-o", target).returncode, 0)
        self.assertEqual(read(target)["city"].to_pylist(), ["B", "A"])

    def test_that_a_path_does_not_name_are_not_looked_at(self):
        done = self.run_command("sort", "--record=parquet", "--key=k", "1.parquet", cwd=self.root / "log" / "city=A")
        self.assertEqual((done.returncode, done.stderr), (0, b""))


def enum(values, dictionary, index=pa.int8(), text=pa.string(), ordered=True):
    indices = [None if value is None else dictionary.index(value) for value in values]
    return pa.DictionaryArray.from_arrays(pa.array(indices, index), pa.array(dictionary, text), ordered=ordered)


class Orders(ColumnsTest):
    """Ordered dictionaries: the order is that of the dictionary."""

    LEVELS = ["lo", "mid", "hi", "max"]

    def table(self, values, levels=None, metadata=None, **types):
        levels = levels or self.LEVELS
        field = pa.field("e", pa.dictionary(types.get("index", pa.int8()), types.get("text", pa.string()), ordered=True),
                         metadata=metadata)
        return pa.table([enum(values, levels, **types), pa.array(range(len(values)))],
                        schema=pa.schema([field, pa.field("row", pa.int64())]))

    def test_are_those_of_their_dictionaries(self):
        values = ["hi", "lo", None, "mid", "hi", "lo"] * 50
        table = self.table(values)

        def ordered(down, first):
            def rank(i):
                place = 0 if values[i] is None else self.LEVELS.index(values[i])
                return ((values[i] is None) != first, -place if down else place, i)
            return take(table, sorted(range(len(values)), key=rank))
        for suffix in (".parquet", ".arrow", ".arrows"):
            source = write(table, self.root / f"in{suffix}")
            for words in ("", ":desc", ":nulls-first", ":desc:nulls-first"):
                expected = ordered("desc" in words, "first" in words)
                for limit in ([], ["--limit=70"]):
                    result = self.sort(source, f"--key=e{words}", *limit, output=f"out{suffix}")
                    self.assert_same(result, expected.slice(0, 70) if limit else expected)
                    self.assertEqual(result["e"].chunk(0).dictionary.to_pylist(), self.LEVELS)
            distinct = self.sort(source, "-u", "--key=e", output=f"out{suffix}")
            self.assertEqual(distinct["e"].to_pylist(), ["lo", "mid", "hi", None])

    def test_go_with_rows_that_are_sorted_by_others(self):
        """The dictionary is what it was, whichever value comes first."""
        for suffix in (".parquet", ".arrow", ".arrows"):
            source = write(self.table(["hi", "lo"]), self.root / f"in{suffix}")
            for result in (self.sort(source, "--key=row", output=f"out{suffix}"),
                           self.join(source, source, "--key=row", output=f"out{suffix}")):
                self.assertEqual(result["e"].to_pylist(), ["hi", "lo"])
                self.assertEqual(result["e"].chunk(0).dictionary.to_pylist(), self.LEVELS)
                self.assertTrue(result.schema.field("e").type.ordered)

    def test_of_several_files_must_be_one(self):
        def sort(*dictionaries):
            paths = [write(self.table(levels, levels), self.root / f"{i}.arrow") for i, levels in enumerate(dictionaries)]
            return self.run_xxl("--record=arrow", "--key=e", *paths, "-o", self.out / "out.arrow")
        for dictionaries in (["lo", "mid"], ["lo", "mid", "hi"]), (["lo", "mid", "hi"], ["lo", "hi"]), (["a"], ["a", "b"], ["b", "c"]):
            done = sort(*dictionaries)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            merged = list(dict.fromkeys(level for levels in dictionaries for level in levels))
            expected = sorted((level for levels in dictionaries for level in levels), key=merged.index)
            self.assertEqual(read(self.out / "out.arrow")["e"].to_pylist(), expected)
        self.out.joinpath("out.arrow").unlink()
        self.assert_fails(sort(["lo", "hi"], ["hi", "lo"]), "column e: its dictionary is ordered, and comes in two orders")
        for others in (["lo", "mid", "hi"], ["max"]):
            self.assert_fails(sort(["lo", "hi"], others), "column e: its dictionary is ordered, and one has a value more")

    def test_are_no_order_of_text_in_the_metadata(self):
        source = write(self.table(["hi", "lo"]), self.root / "in.parquet")
        self.sort(source, "--key=row", "--key=e")
        group = pq.ParquetFile(self.out / "out.parquet").metadata.row_group(0)
        self.assertEqual(group.sorting_columns, (pq.SortingColumn(1),))

    def test_leave_out_no_row_group_by_text(self):
        source = self.root / "in.parquet"
        pq.write_table(self.table(["hi"] * 10 + ["lo"] * 10 + ["max"] * 10), source, row_group_size=10)
        self.assertEqual(self.sort(source, "--key=e", "--limit=2")["e"].to_pylist(), ["lo", "lo"])
        self.assertEqual(self.sort(source, "--key=e:desc", "--limit=2")["e"].to_pylist(), ["max", "max"])

    def test_that_a_file_does_not_tell(self):
        source = self.root / "in.parquet"
        table = self.table(["hi", "lo", "mid"])
        pq.write_table(table, source, use_dictionary=False)
        self.assert_fails(self.run_xxl("--record=parquet", "--key=e", source), "column e: it is a dictionary in an order of its own")
        self.assertEqual(self.sort(source, "--key=row")["e"].to_pylist(), ["hi", "lo", "mid"])
        self.assertEqual(self.join(source, source, "--key=e")["row"].to_pylist(), [0, 1, 2])

    def test_of_polars_are_in_the_metadata(self):
        metadata = {"_PL_ENUM_VALUES2": "2;lo3;mid2;hi"}
        table = self.table(["hi", "lo", "mid", None], ["hi", "lo", "mid"], metadata)
        for suffix in (".parquet", ".arrow"):
            source = write(table, self.root / f"in{suffix}")
            result = self.sort(source, "--key=e", output=f"out{suffix}")
            self.assertEqual(result["e"].to_pylist(), ["lo", "mid", "hi", None])
            self.assertEqual(result["e"].chunk(0).dictionary.to_pylist(), ["lo", "mid", "hi"])
            self.assertEqual(result.schema.field("e").metadata[b"_PL_ENUM_VALUES2"], b"2;lo3;mid2;hi")
            for key in ("row", "e"):
                joined = self.join(source, source, f"--key={key}", output=f"out{suffix}")
                self.assertEqual({value for value in joined["e"].to_pylist() if value}, {"lo", "mid", "hi"})
        source = write(self.table(["x"], ["x"], metadata), self.root / "in.arrow")
        self.assert_fails(self.run_xxl("--record=arrow", "--key=e", source), "column e: a value is not among those of its type")

"""xxl.sort_parquet and xxl.join_parquet."""

import errno
import json
import os
import stat
import threading

import pytest
import xxl

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.usefixtures("in_folder")

MEMORY = "128M"


def write(name, start, rows, **options):
    keys = [(i * 7919) % 1009 for i in range(start, start + rows)]
    table = pa.table({"key": keys, "row": list(range(start, start + rows)),
                      "text": [f"text {i}" for i in range(rows)]})
    pq.write_table(table, name, **options)
    return table


def test_sorts_a_file():
    table = write("in.parquet", 0, 5000, row_group_size=700)
    report = xxl.sort_parquet("in.parquet", "out.parquet", ["key", ("row", "desc")], memory=MEMORY)
    assert (report.rows, report.rows_in, report.row_groups) == (5000, 5000, 1)
    assert report.bytes_written == os.path.getsize("out.parquet")
    expected = table.sort_by([("key", "ascending"), ("row", "descending")])
    assert pq.read_table("out.parquet").equals(expected)


def test_the_report_has_scratch_memory_and_phases():
    rows = 200_000
    table = pa.table({"key": [(i * 7919) % 100_003 for i in range(rows)],
                      "text": [f"{i:0200}" for i in range(rows)]})
    pq.write_table(table, "in.parquet", row_group_size=20_000)
    report = xxl.sort_parquet("in.parquet", "out.parquet", "key", memory="64M")
    assert report.scratch_bytes > rows * 200 // 2
    assert report.peak_memory_bytes > 32 << 20
    phases = {phase.name: phase for phase in report.phases}
    assert list(phases) == ["form runs", "merge", "finish"]
    assert phases["form runs"].bytes_written > rows * 200 // 2
    assert phases["merge"].bytes_read > rows * 200 // 2
    stored = sum(phase.bytes_written for phase in report.phases)
    assert stored >= report.scratch_bytes + report.bytes_written - (1 << 20)
    assert 0 < sum(phase.seconds for phase in report.phases) <= report.seconds + 0.1
    report = xxl.join_parquet("in.parquet", "in.parquet", "both.parquet", on="key", memory="1G")
    assert [phase.name for phase in report.phases] == ["build", "probe", "finish"]
    assert report.scratch_bytes == 0
    assert sum(phase.bytes_read for phase in report.phases) > os.path.getsize("in.parquet")


def test_progress_of_parquet_has_a_total(totals_while_forming_runs):
    def sort(rows, progress):
        write("in.parquet", 0, rows, row_group_size=30_000)
        xxl.sort_parquet("in.parquet", "out.parquet", "key", memory="64M", progress=progress)

    totals = totals_while_forming_runs(300_000, sort)
    assert totals and all(0 < done <= total for done, total in totals)


def test_the_footer_says_how_rows_are_sorted():
    nested = pa.table({"a": [{"x": 1, "y": 2}], "b": [3], "c": ["t"]})
    pq.write_table(nested, "in.parquet")
    xxl.sort_parquet("in.parquet", "out.parquet", [("c", "desc", "nulls_first"), "b"],
                     memory=MEMORY)
    group = pq.read_metadata("out.parquet").row_group(0)
    assert [group.column(i).path_in_schema for i in range(4)] == ["a.x", "a.y", "b", "c"]
    assert group.sorting_columns == (
        pq.SortingColumn(3, descending=True, nulls_first=True), pq.SortingColumn(2))


def test_schema_and_metadata_are_kept():
    schema = pa.schema(
        [pa.field("a", pa.dictionary(pa.int8(), pa.string())),
         pa.field("b", pa.timestamp("us", "Europe/Berlin"), nullable=False,
                  metadata={"unit": "time"})],
        metadata={"source": "test"})
    pq.write_table(pa.table({"a": ["y", "x"], "b": [2, 1]}, schema=schema), "in.parquet")
    xxl.sort_parquet("in.parquet", "out.parquet", "a", memory=MEMORY)
    result = pq.read_table("out.parquet")
    assert result.schema.field("b").metadata[b"unit"] == b"time"
    assert result.schema.metadata[b"source"] == b"test"
    # Indices have 32 bits: a sorted row group may have more values than one of the input had.
    assert result.schema.types == [pa.dictionary(pa.int32(), pa.string()), schema.field("b").type]
    assert not result.schema.field("b").nullable
    assert result["a"].to_pylist() == ["x", "y"]


@pytest.mark.parametrize("inputs", [
    ["parts/a.parquet", "parts/b.parquet"], "parts", "parts/*.parquet", "part[s]/?.parquet",
])
def test_inputs_may_be_several(inputs):
    os.mkdir("parts")
    write("parts/a.parquet", 0, 100)
    write("parts/b.parquet", 100, 50)
    write("parts/_hidden.parquet", 0, 7)
    if inputs == "parts/*.parquet":
        os.unlink("parts/_hidden.parquet")
    report = xxl.sort_parquet(inputs, "out.parquet", "row", memory=MEMORY)
    assert report.rows == 150
    assert pq.read_table("out.parquet")["row"].to_pylist() == list(range(150))


@pytest.mark.parametrize("inputs, message", [
    ([], "no inputs"), ("none*", "no such files"), ("empty", "no files"),
])
def test_inputs_that_are_none_are_usage_errors(inputs, message):
    os.mkdir("empty")
    with pytest.raises(xxl.UsageError, match=message):
        xxl.sort_parquet(inputs, "out.parquet", "key", memory=MEMORY)
    assert not os.path.exists("out.parquet")


def test_files_of_other_columns_are_refused():
    write("a.parquet", 0, 5)
    pq.write_table(pa.table({"key": [1], "row": ["1"], "text": ["t"]}), "b.parquet")
    with pytest.raises(xxl.UsageError, match=r"b\.parquet.*'row' is string, not int64"):
        xxl.sort_parquet(["a.parquet", "b.parquet"], "out.parquet", "key", memory=MEMORY)


def test_dictionaries_of_many_values_keep_their_type():
    rows = 100_000  # whose values are more than a 16th of the memory
    texts = [f"a value of some length, number {i}" for i in range(rows)]
    table = pa.table({"key": list(range(rows, 0, -1)), "text": pa.array(texts).dictionary_encode()})
    pq.write_table(table, "in.parquet")
    xxl.sort_parquet("in.parquet", "out.parquet", "key", memory="64M")
    result = pq.read_table("out.parquet")
    assert result.schema.equals(table.schema)
    assert result["text"].cast(pa.string()).to_pylist() == texts[::-1]
    xxl.join_parquet("in.parquet", "out.parquet", "both.parquet", on="key", memory="64M")
    both = pq.read_table("both.parquet")
    assert both.schema.types == [*table.schema.types, table.schema.field("text").type]
    assert both["text"].cast(pa.string()).equals(both["text_right"].cast(pa.string()))


def test_a_missing_file_is_named():
    with pytest.raises(xxl.Error, match="^missing.parquet: No such file or directory$") as caught:
        xxl.sort_parquet("missing.parquet", "out.parquet", "key", memory=MEMORY)
    error = caught.value
    assert (error.code, error.errno, error.path) == ("io", errno.ENOENT, "missing.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not a file of Parquet"])
def test_a_file_of_a_folder_that_is_not_parquet_is_named(content):
    os.mkdir("folder")
    write("folder/a.parquet", 0, 10)
    with open("folder/b.parquet", "wb") as file:
        file.write(content)
    with pytest.raises(xxl.Error, match=r"^folder/b\.parquet: \w") as caught:
        xxl.sort_parquet("folder", "out.parquet", "key", memory=MEMORY)
    error = caught.value
    assert (error.code, error.errno, error.path) == ("bad_input", None, "folder/b.parquet")
    assert "\n" not in str(error)


def test_what_cannot_be_written_names_the_output():
    write("in.parquet", 0, 10)
    with pytest.raises(xxl.UsageError, match=r"^out\.parquet: \w") as caught:
        xxl.sort_parquet("in.parquet", "out.parquet", "key", memory=MEMORY, compression="lzo")
    assert caught.value.path == "out.parquet"
    assert os.listdir() == ["in.parquet"]


def test_an_input_may_be_the_output():
    write("in.parquet", 0, 100)
    xxl.sort_parquet("in.parquet", "in.parquet", "row", memory=MEMORY)
    assert pq.read_table("in.parquet").num_rows == 100
    assert os.listdir() == ["in.parquet"]


@pytest.mark.parametrize("output", ["folder", "pipe"])
def test_an_output_that_is_no_file_is_refused(output):
    write("in.parquet", 0, 5)
    os.mkdir("folder")
    os.mkfifo("pipe")
    with pytest.raises(xxl.UsageError, match="no file"):
        xxl.sort_parquet("in.parquet", output, "key", memory=MEMORY)


def test_an_output_without_a_folder_is_named():
    write("in.parquet", 0, 5)
    with pytest.raises(xxl.Error, match="^nowhere/out.parquet: No such file") as caught:
        xxl.sort_parquet("in.parquet", "nowhere/out.parquet", "key", memory=MEMORY)
    error = caught.value
    assert (error.code, error.errno, error.path) == ("io", errno.ENOENT, "nowhere/out.parquet")


def test_a_folder_of_parts_has_all_that_its_manifest_says():
    os.mkdir("parts")
    write("parts/part-00000.parquet", 0, 100)
    write("parts/part-00001.parquet", 100, 50)
    files = [{"file": f"part-0000{number}.parquet", "records": records,
              "bytes": os.path.getsize(f"parts/part-0000{number}.parquet"),
              "checksum": "xxh3-4k:0"} for number, records in ((0, 100), (1, 50))]
    manifest = {"format": "xxl parts 1", "record": "parquet", "records": 150, "files": files}

    def sort():
        with open("parts/_manifest.json", "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        return xxl.sort_parquet("parts", "out.parquet", "row", memory=MEMORY)

    assert sort().rows == 150
    left_out = files.pop()
    with pytest.raises(xxl.Error, match="'records' is 150, but its files have 100"):
        sort()
    manifest["records"] = 100
    with pytest.raises(xxl.Error, match="part-00001.parquet: is called like a part"):
        sort()
    manifest["records"] = 150
    files.append(left_out)
    os.remove("parts/part-00001.parquet")
    with pytest.raises(xxl.Error, match="part-00001.parquet: .*No such file"):
        sort()


def damage(name):
    """Overwrites the data of a file, but not its footer."""
    with open(name, "r+b") as file:
        file.seek(16)
        file.write(b"\xff" * (pq.read_metadata(name).row_group(0).total_byte_size // 2))


def test_an_existing_output_survives_a_failure_and_nothing_is_left():
    write("in.parquet", 0, 5000, compression="none", use_dictionary=False)
    damage("in.parquet")
    with open("out.parquet", "w") as file:
        file.write("old")
    with pytest.raises(xxl.Error, match=r"^in\.parquet: \w") as caught:
        xxl.sort_parquet("in.parquet", "out.parquet", "key", memory=MEMORY)
    assert (caught.value.code, caught.value.path) == ("bad_input", "in.parquet")
    with open("out.parquet") as file:
        assert file.read() == "old"
    assert sorted(os.listdir()) == ["in.parquet", "out.parquet"]


def test_an_output_keeps_the_mode_of_the_file_that_it_replaces():
    write("in.parquet", 0, 5)
    xxl.sort_parquet("in.parquet", "out.parquet", "key", memory=MEMORY)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(os.stat("out.parquet").st_mode) == 0o666 & ~umask
    os.chmod("out.parquet", 0o640)
    xxl.sort_parquet("in.parquet", "out.parquet", "key", memory=MEMORY)
    assert stat.S_IMODE(os.stat("out.parquet").st_mode) == 0o640


def test_an_output_that_is_a_link_replaces_what_it_leads_to():
    write("in.parquet", 0, 5)
    os.mkdir("folder")
    os.symlink("folder/real.parquet", "out.parquet")
    xxl.sort_parquet("in.parquet", "out.parquet", "key", memory=MEMORY)
    assert os.path.islink("out.parquet") and os.path.isfile("folder/real.parquet")


def test_limit_unique_and_row_groups():
    write("in.parquet", 0, 3000)
    assert xxl.sort_parquet("in.parquet", "out.parquet", "key", limit=10, memory=MEMORY).rows == 10
    assert xxl.sort_parquet("in.parquet", "out.parquet", "key", unique=True,
                            memory=MEMORY).rows == 1009
    report = xxl.sort_parquet("in.parquet", "out.parquet", "key", row_group_rows=1000,
                              memory=MEMORY)
    assert report.row_groups == 3
    about = pq.read_metadata("out.parquet")
    assert [about.row_group(i).num_rows for i in range(3)] == [1000, 1000, 1000]


@pytest.mark.parametrize("compression", ["zstd", "snappy", None])
def test_compression(compression):
    write("in.parquet", 0, 50)
    xxl.sort_parquet("in.parquet", "out.parquet", "key", compression=compression, memory=MEMORY)
    column = pq.read_metadata("out.parquet").row_group(0).column(0)
    assert column.compression == (compression or "uncompressed").upper()


def test_an_empty_file_is_sorted():
    write("in.parquet", 0, 0)
    report = xxl.sort_parquet("in.parquet", "out.parquet", "key", memory=MEMORY)
    assert report.rows == 0
    assert pq.read_table("out.parquet").num_rows == 0


def test_joins_files():
    write("left.parquet", 0, 1000)
    pq.write_table(pa.table({"id": [5, 7, 5000], "text": ["x", "y", "z"]}), "right.parquet")
    report = xxl.join_parquet("left.parquet", "right.parquet", "out.parquet", left_on="row",
                              right_on="id", how="right", memory=MEMORY)
    assert (report.rows, report.rows_in) == (3, 1003)
    table = pq.read_table("out.parquet")
    assert table.column_names == ["key", "row", "text", "text_right"]
    assert sorted(table["row"].to_pylist()) == [5, 7, 5000]


@pytest.mark.parametrize("damaged", ["left.parquet", "right.parquet"])
def test_a_join_that_fails_leaves_no_output(damaged):
    """The left table is read while the output is written."""
    write("left.parquet", 0, 5000, compression="none", use_dictionary=False)
    write("right.parquet", 0, 5000, compression="none", use_dictionary=False)
    damage(damaged)
    with pytest.raises(xxl.Error, match=rf"^{damaged}: \w") as caught:
        xxl.join_parquet("left.parquet", "right.parquet", "out.parquet", on="key", memory=MEMORY)
    assert (caught.value.code, caught.value.path) == ("bad_input", damaged)
    assert not os.path.exists("out.parquet")


def test_the_output_survives_a_failure_of_its_encoding(monkeypatch):
    """Row groups are encoded by a thread of their own."""
    pq.write_table(pa.table({"key": list(range(1000))}), "in.parquet")
    pq.write_table(pa.table({"old": [1]}), "out.parquet")
    written = []
    write_any_table = pq.ParquetWriter.write_table

    def write_table(self, table, row_group_size=None):
        if len(table) == 0:  # A schema's numbers of leaves are asked for by an empty one.
            write_any_table(self, table, row_group_size)
            return
        written.append(threading.current_thread())
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    no_space = pytest.raises(xxl.Error, match="^out.parquet: No space left")
    with monkeypatch.context() as patched, no_space as caught:
        patched.setattr(pq.ParquetWriter, "write_table", write_table)
        xxl.sort_parquet("in.parquet", "out.parquet", "key", memory="64M", row_group_rows=100)
    assert (caught.value.code, caught.value.path) == ("no_space", "out.parquet")
    assert threading.main_thread() not in written and len(written) == 3
    assert pq.read_table("out.parquet").to_pydict() == {"old": [1]}
    assert sorted(os.listdir(".")) == ["in.parquet", "out.parquet"]

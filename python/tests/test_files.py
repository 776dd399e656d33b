"""xxl.sort_file, xxl.sort_csv and xxl.join_files."""

import array
import os
import pathlib

import pytest
import xxl

pytestmark = pytest.mark.usefixtures("in_folder")


def write_numbers(name, numbers):
    with open(name, "wb") as file:
        array.array("Q", numbers).tofile(file)


def read_numbers(name):
    return list(array.array("Q", pathlib.Path(name).read_bytes()))


def test_sorts_records():
    write_numbers("a", [5, 3, 5])
    write_numbers("b", [1])
    report = xxl.sort_file(["a", pathlib.Path("b")], b"out", format="u64", memory="64M")
    assert read_numbers("out") == [1, 3, 5, 5]
    assert (report.records, report.records_in, report.skipped) == (4, 4, 0)
    assert report.seconds > 0 and report.peak_memory_bytes > 0
    assert all(isinstance(phase, xxl.PhaseReport) for phase in report.phases)


def test_options_of_records():
    write_numbers("in", [5, 3, 5])
    xxl.sort_file("in", "out", format="u64", by="0:u64:desc", memory="64M")
    assert read_numbers("out") == [5, 5, 3]
    xxl.sort_file("in", "out", format="u64", reverse=True, unique=True, limit=1, memory="64M")
    assert read_numbers("out") == [5]
    xxl.sort_file("in", "out", format="u64", count=True, memory="64M")
    assert read_numbers("out") == [3, 1, 5, 2]
    xxl.sort_file("in", "out", format="u64", memory="64M", scratch_compress="zstd:3", threads=1,
                  scratch=".", device="cpu")
    assert read_numbers("out") == [3, 5, 5]
    write_numbers("pairs", [1, 10, 2, 20, 1, 30])
    xxl.sort_file("pairs", "out", format="kv64", aggregates="sum=8:u64", memory="64M")
    assert read_numbers("out") == [1, 40, 2, 20]
    xxl.sort_file("pairs", "out", format="kv64", aggregates="max=8:u64", memory="64M")
    assert read_numbers("out") == [1, 30, 2, 20]
    xxl.sort_file("pairs", "out", format="kv64", aggregates=["sum=8:u32", "last=12:u32"], memory="64M")
    assert read_numbers("out") == [1, 40, 2, 20]
    with pytest.raises(xxl.UsageError):
        xxl.sort_file("pairs", "out", format="kv64", aggregates="collect=8:u64", memory="64M")


def test_merges():
    write_numbers("a", [1, 4])
    write_numbers("b", [2, 3])
    xxl.sort_file(["a", "b"], "out", format="u64", merge=True, memory="64M")
    assert read_numbers("out") == [1, 2, 3, 4]
    write_numbers("b", [3, 2])
    with pytest.raises(xxl.Error, match="b: byte 8") as caught:
        xxl.sort_file(["a", "b"], "out", format="u64", merge=True, memory="64M")
    assert caught.value.code == "bad_input"


def test_sorts_lines():
    pathlib.Path("in").write_text("h\n10;b\n9;a\n")
    report = xxl.sort_file("in", "out", format="lines", by="1,1n", separator=";", header=True,
                           memory="64M")
    assert pathlib.Path("out").read_text() == "h\n9;a\n10;b\n"
    assert report.records == 2
    pathlib.Path("in").write_bytes(b"b\0B\0a\0")
    xxl.sort_file("in", "out", format="lines", flags="f", stable=True, zero_terminated=True,
                  memory="64M")
    assert pathlib.Path("out").read_bytes() == b"a\0b\0B\0"


def test_errors_say_what_and_where():
    pathlib.Path("in").write_bytes(bytes(12))
    with pytest.raises(xxl.Error, match="in") as caught:
        xxl.sort_file("in", "out", format="u64", memory="64M")
    assert caught.value.code == "bad_input" and caught.value.path == "in"
    with pytest.raises(xxl.Error) as caught:
        xxl.sort_file("missing", "out", format="u64", memory="64M")
    assert (caught.value.code, caught.value.errno, caught.value.path) == ("io", 2, "missing")
    assert caught.value.offset is None
    with pytest.raises(xxl.UsageError):
        xxl.sort_file("in", "out", format="u63", memory="64M")
    with pytest.raises(xxl.UsageError):
        xxl.sort_file("in", "out", format="u64", flags="n", memory="64M")
    with pytest.raises(xxl.UsageError):
        xxl.sort_file([], "out", format="u64")
    with pytest.raises(xxl.UsageError):
        xxl.sort_file("in", "out", format="u64", scratch_compress="bzip2")
    pathlib.Path("in").write_bytes(bytes(16))
    with pytest.raises(xxl.Error, match="too small") as caught:
        xxl.sort_file("in", "out", format="u64", memory=1000)
    assert caught.value.code in ("usage", "no_space")


def test_an_existing_output_survives_a_failure():
    pathlib.Path("in").write_bytes(bytes(12))
    pathlib.Path("out").write_text("old")
    with pytest.raises(xxl.Error):
        xxl.sort_file("in", "out", format="u64", memory="64M")
    assert pathlib.Path("out").read_text() == "old"


def test_names_of_files_may_be_any_bytes():
    for name in (b"\xff\xfe", "ä".encode(), b"-"):
        pathlib.Path("plain").write_text("b\na\n")
        os.rename(b"plain", name)
        xxl.sort_file(name, name + b".out", format="lines", memory="64M")
        with open(name + b".out", "rb") as file:
            assert file.read() == b"a\nb\n"
        with pytest.raises(xxl.Error) as caught:
            xxl.sort_file(name + b"?", "out", format="lines", memory="64M")
        assert os.fsencode(caught.value.path) == name + b"?"


def test_sorts_csv():
    pathlib.Path("in.csv").write_text('name,"a:b"\nann,10\n"b,b",9\neve,10\n,\n')
    report = xxl.sort_csv("in.csv", "out.csv", [("a:b", "number", "desc"), "name"], memory="64M")
    assert pathlib.Path("out.csv").read_text() == (
        'name,"a:b"\n,\nann,10\neve,10\n"b,b",9\n')
    assert report.records == 4


def test_options_of_csv():
    text = "x;3\ny;1\nz;x\nw;1\n"
    pathlib.Path("in.csv").write_text(text)
    report = xxl.sort_csv("in.csv", "out.csv", [(2, "desc", "integer")], header=False,
                          separator=";", malformed="skip", memory="64M")
    assert pathlib.Path("out.csv").read_text() == "x;3\ny;1\nw;1\n"
    assert report.skipped == 1
    pathlib.Path("in.csv").write_text("a,b\n1,5\n,6\n2,7\n1,8\n")
    xxl.sort_csv("in.csv", "out.csv", [("a", "integer")], empty="last", limit=2, unique=True,
                 memory="64M")
    assert pathlib.Path("out.csv").read_text() == "a,b\n1,5\n2,7\n"
    xxl.sort_csv("in.csv", "out.csv", [("a", "integer")], count=True, aggregates={"b": ("b", "sum")},
                 reverse=True, memory="64M")
    assert pathlib.Path("out.csv").read_text().splitlines()[1:] == [",6,1", "2,7,1", "1,13,2"]
    pathlib.Path("in.csv").write_text("# about\na||b\n1||x\\||y\n0||z\n")
    xxl.sort_csv("in.csv", "out.csv", "a", separator="||", escape="\\", comment="#", memory="64M")
    assert pathlib.Path("out.csv").read_text() == "# about\na||b\n0||z\n1||x\\||y\n"
    pathlib.Path("in.csv").write_text("a,b\n1,5\n,6\n2,7\n1,8\n")
    for by in (2, [pytest.importorskip("numpy").int64(2)]):
        xxl.sort_csv("in.csv", "out.csv", by, memory="64M")
        assert pathlib.Path("out.csv").read_text() == "a,b\n1,5\n,6\n2,7\n1,8\n"


def test_csv_without_quotes():
    pathlib.Path("in.tsv").write_text('b\t"x\na\t5" y\n')
    xxl.sort_csv("in.tsv", "out.tsv", 1, header=False, separator="\t", quotes=False, memory="64M")
    assert pathlib.Path("out.tsv").read_text() == 'a\t5" y\nb\t"x\n'
    xxl.join_files("in.tsv", "in.tsv", "out.tsv", format="tsv", on="1", quotes=False, memory="64M")
    assert pathlib.Path("out.tsv").read_text() == 'a\t5" y\t5" y\nb\t"x\t"x\n'


def test_folds_of_csv():
    pathlib.Path("in.csv").write_text('k,"a:b",d\ny,1,2024-01-02\nx,5,2024-01-01\ny,2.5,2023-01-01\n')
    folds = {"a:b": ("a:b", "mean"), "text": ("a:b", "max"), "2": ("d", "min", "date"),
             "all": (2, "collect")}
    xxl.sort_csv("in.csv", "out.csv", "k", aggregates=folds, count=True, memory="64M")
    assert pathlib.Path("out.csv").read_text().splitlines() == [
        'k,"a:b",d,text,2,all,count', "x,5,2024-01-01,5,2024-01-01,5,1",
        "y,1.75,2024-01-02,2.5,2023-01-01,1;2.5,2"]
    xxl.sort_csv("in.csv", "out.csv", "k", aggregates={"a:b": ("a:b", "sum"), "last": ("d", "last")},
                 memory="64M")
    assert pathlib.Path("out.csv").read_text().splitlines()[2] == "y,3.5,2024-01-02,2023-01-01"


@pytest.mark.parametrize("folds", [{"x": ("k", "most")}, {"k": ("v", "max")}, {"x": ("v", "sum", "date")},
                                   {"x": ("v", "max", "up")}, {"": ("v", "max")}])
def test_bad_folds_of_csv_are_usage_errors(folds):
    pathlib.Path("in.csv").write_text("k,v\n1,1\n")
    with pytest.raises(xxl.UsageError):
        xxl.sort_csv("in.csv", "out.csv", "k", aggregates=folds, memory="64M")
    with pytest.raises(TypeError):
        xxl.sort_csv("in.csv", "out.csv", "k", aggregates={"x": "max"}, memory="64M")


@pytest.mark.parametrize("by", [[], [0], [("a", "up")], ["missing"], [("a", "number", "date")]])
def test_bad_keys_of_csv_are_usage_errors(by):
    pathlib.Path("in.csv").write_text("a\n1\n")
    with pytest.raises(xxl.UsageError):
        xxl.sort_csv("in.csv", "out.csv", by, memory="64M")


def test_bad_options_of_csv_are_usage_errors():
    with pytest.raises(xxl.UsageError):
        xxl.sort_csv("in.csv", "out.csv", "a", empty="middle")
    with pytest.raises(xxl.UsageError, match="malformed=skip"):
        xxl.sort_csv("in.csv", "out.csv", "a", rejects="left out")
    with pytest.raises(xxl.UsageError):
        xxl.sort_csv("in.csv", "out.csv", "a", malformed="mend")
    with pytest.raises(TypeError):
        xxl.sort_csv("in.csv", "out.csv", ("a", "desc"))
    with pytest.raises(TypeError):
        xxl.sort_csv("in.csv", "out.csv", [True])


def test_joins_csv():
    pathlib.Path("l.csv").write_text("id,name\n2,b\n1,a\n3,c\n")
    pathlib.Path("r.csv").write_text("user,name\n1,x\n3,y\n3,z\n")
    report = xxl.join_files("l.csv", "r.csv", "out.csv", format="csv", header=True,
                            left_on="id:integer", right_on="user:integer", how="left",
                            suffixes=("_l", "_r"), filler="-", memory="64M")
    assert pathlib.Path("out.csv").read_text() == (
        "id,name_l,name_r\n1,a,x\n2,b,-\n3,c,y\n3,c,z\n")
    assert (report.rows, report.records, report.matched) == (4, (3, 3), (2, 3))


def test_joins_records():
    write_numbers("l", [1, 10, 2, 20])
    write_numbers("r", [2, 30, 3, 40])
    report = xxl.join_files("l", "r", "out", format=("kv64", "kv64"), method="sort-merge",
                            presorted=(True, False), memory="64M")
    assert read_numbers("out") == [2, 20, 30]
    assert report.method == "sort-merge" and report.bytes_written == 24
    assert xxl.join_files("l", "r", None, format="kv64", method="hash", memory="64M").rows == 1
    xxl.join_files("l", "r", "out", format="kv64", on="0:u64", layout="0,2.8:8", memory="64M")
    assert read_numbers("out") == [2, 30]


def test_joins_lines():
    pathlib.Path("l").write_text("A x\nb y\n")
    pathlib.Path("r").write_text("a 1\n")
    xxl.join_files("l", "r", "out", format="lines", ignore_case=True, layout="1.1,2.2",
                   memory="64M")
    assert pathlib.Path("out").read_text() == "A 1\n"


def test_bad_joins_of_files():
    write_numbers("l", [1])
    with pytest.raises(xxl.UsageError):
        xxl.join_files("l", "l", "out", format="u64", how="outside")
    with pytest.raises(xxl.UsageError):
        xxl.join_files("l", "l", "out", format="u64", method="magic")
    with pytest.raises(xxl.UsageError):
        xxl.join_files("l", "l", "out", format="u64", on="0:u64", left_on="0:u64")
    with pytest.raises(xxl.UsageError):
        xxl.join_files("l", "l", "out", format=("u64", "u64", "u64"))
    with pytest.raises(TypeError):
        xxl.join_files(["l"], "l", "out", format="u64")
    with pytest.raises(xxl.Error):
        xxl.join_files("l", "missing", "out", format="u64", memory="64M")


def test_progress_of_files_is_told():
    write_numbers("in", range(100_000, 0, -1))
    told = []
    xxl.sort_file("in", "out", format="u64", memory="64M",
                  progress=lambda *state: told.append(state))
    assert told and told[-1][0] == "finishing"


def test_an_output_is_verified():
    write_numbers("in", range(100000, 0, -1))
    report = xxl.sort_file("in", "out", format="u64", memory="64M", verify=True)
    assert (report.phases[-1].name, report.phases[-1].bytes_read) == ("verify", 800000)
    assert read_numbers("out") == list(range(1, 100001))
    pathlib.Path("in.csv").write_text("a\n2\n1\n")
    assert xxl.sort_csv("in.csv", "out.csv", "a", memory="64M", verify=True).phases[-1].name == "verify"
    join = xxl.join_files("in", "in", "out", format="u64", memory="64M", verify=True)
    assert join.phases[-1].name == "verify"
    with pytest.raises(xxl.UsageError, match="cannot be read back"):
        xxl.sort_file("in", "/dev/null", format="u64", memory="64M", verify=True)
    with pytest.raises(xxl.UsageError, match="needs an output"):
        xxl.join_files("in", "in", None, format="u64", memory="64M", verify=True)


def test_messages_about_memory_name_the_argument():
    os.mkdir("of -S 1")
    long = "of -S 1/long"
    pathlib.Path(long).write_bytes(b"b\n" + b"a" * 30_000_000 + b"\n")
    with pytest.raises(xxl.Error) as caught:
        xxl.sort_file(long, "out", format="lines", memory="8M")
    assert (caught.value.code, caught.value.path) == ("no_space", long)
    start, _, rest = str(caught.value).partition(": ")
    assert start == long and "-S" not in rest
    assert "too long for memory= (8 MiB): give at least memory=" in rest
    advised = rest.rpartition("memory=")[2]
    assert advised[:-1].isdigit() and advised[-1] == "M"
    with pytest.raises(xxl.Error, match=r"^memory=4 MiB is too small .*: give at least memory=\d"):
        xxl.sort_file(long, "out", format="fixed:10000001", memory="4M")

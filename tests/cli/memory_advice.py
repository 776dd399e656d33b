#!/usr/bin/env python3
"""Where -S is too small, the message says which would be enough. Random jobs with long records: with
what is advised they work, and with three quarters of it at least half of them do not. --cases=1000
for more of them, --seed for others, --kinds for some.

Jobs of Parquet need pyarrow and a program whose module was built (as columns.py), those of the library's
sorter the program xxl_string_sorter in the same build; without it they are left out, and a line says so.
"""

import collections
import os
import pathlib
import random
import re
import subprocess
import sys

import whole_process
from columns_case import module_is_there

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None

MIB = whole_process.MIB
LEAST = 4 * MIB  # less is raised to this
ADVICE = re.compile(r"(?:give at least -S |: -S )(?P<mebibytes>\d+)M|memory_bytes = (?P<bytes>\d+)")


def options(parser):
    parser.add_argument("--cases", type=int, default=30, help="how many jobs")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--kinds", default="", metavar="REGEX", help="of these kinds only, such as join")


def sorter_program():
    """Built with the program under test."""
    return pathlib.Path(whole_process.XXL).parent.parent / "tests/xxl_string_sorter"


class Text:
    """Records of random lengths, some of them long, in random order."""

    def __init__(self, rng, as_rows):
        self.rng = rng
        self.as_rows = as_rows
        self.longest = int(2 ** rng.uniform(22.3, 24.3))  # 5 to 20 MB
        self.many = rng.choice((1, 1, 1, 2, 3))
        self.alike = rng.random() < 0.3  # long records share their beginning

    def long_record(self, number):
        length = self.longest if number == 0 else int(self.longest * self.rng.uniform(0.3, 1))
        begin = b"zz" if self.alike else b"%09d" % self.rng.randrange(10**9)
        if not self.as_rows:
            return begin + b"x" * (length - len(begin))
        if self.rng.random() < 0.5:
            return begin + b"," + b"y" * length
        return begin + b',"' + b"line\n" * (length // 5) + b'"'

    def records(self):
        rng = self.rng
        few = [b"%09d" % rng.randrange(10**9) + b"," + b"w" * rng.randrange(60)
               for _ in range(rng.choice((3, 1000, 60_000)))]
        long_ones = [self.long_record(number) for number in range(self.many)]
        for record in long_ones:
            few.insert(rng.randrange(len(few) + 1), record)
        return few


class Table:
    """A Parquet file of large values, of large pages, or of many columns; its memory is not that of its values."""

    def __init__(self, rng, path):
        self.rng = rng
        self.path = path
        getattr(self, rng.choice(("large_values", "large_values", "large_pages", "many_columns")))()

    def text(self, length):
        """Half of it can be compressed away, or nearly all."""
        if self.rng.random() < 0.7:
            return self.rng.randbytes(length // 2).hex()
        return "repeated " * (length // 9)

    def write(self, table, **options):
        rng = self.rng
        pq.write_table(table, self.path, compression=rng.choice(("none", "snappy", "zstd")),
                       use_dictionary=rng.random() < 0.5, **options)

    def keys(self, rows):
        return pa.array(self.rng.sample(range(rows), rows))

    def large_values(self):
        rng = self.rng
        longest = int(2 ** rng.uniform(20, 24))  # 1 to 16 MB
        values = [self.text(int(longest * rng.uniform(0.3, 1))) for _ in range(rng.choice((1, 1, 2, 3, 5)))]
        values[0] = self.text(longest)
        values += ["w" * rng.randrange(60) for _ in range(rng.choice((0, 1000, 20_000)))]
        rng.shuffle(values)
        kind = rng.choice((pa.string(), pa.large_string(), pa.binary()))
        self.write(pa.table({"k": self.keys(len(values)), "v": pa.array(values).cast(kind)}),
                   row_group_size=rng.choice((None, 100, 5000)))

    def large_pages(self):
        rng = self.rng
        rows, length = rng.randrange(10_000, 100_000), rng.randrange(50, 600)
        values = [f"{rng.randrange(1 << 60):x}" * (length // 15 + 1) for _ in range(rows)]
        self.write(pa.table({"k": self.keys(rows), "v": values}), data_page_size=rng.randrange(1, 100) * MIB,
                   dictionary_pagesize_limit=rng.randrange(1, 20) * MIB)

    def many_columns(self):
        rng = self.rng
        rows = rng.randrange(100, 2000)
        table = {"k": self.keys(rows)}
        for column in range(rng.randrange(50, 500)):
            length = rng.randrange(40)
            table[f"c{column}"] = pa.array([f"{row * 7919 % 1009}" + "x" * length for row in range(rows)]
                                           if rng.random() < 0.5 else range(rows))
        self.write(pa.table(table), row_group_size=rng.choice((None, 200, 1000)))


class MemoryAdvice(whole_process.FaultTest):
    def write(self, name, records):
        path = self.root / name
        path.write_bytes(b"\n".join(records) + b"\n")
        return path

    def text(self, rng, as_rows=False):
        text = Text(rng, as_rows)
        return text.records(), text.longest

    def sort_of_lines(self, rng):
        records, longest = self.text(rng)
        path = self.write("lines", records)
        how = rng.choice(([], ["-r"], ["-n"], ["-u"], ["-s", "-k1,1", "-t,"], ["--count"],
                          ["--limit=3"], ["--temp-compress=lz4"], ["--parallel=1"]))
        return ["sort", *how, path], longest

    def sort_of_a_pipe(self, rng):
        command, longest = self.sort_of_lines(rng)
        return command[:-1], longest, command[-1]

    def sort_in_kept_order(self, rng):
        records, longest = self.text(rng)
        return ["sort", "-u", "--keep-order", self.write("lines", records)], longest

    def sort_of_rows(self, rng):
        records, longest = self.text(rng, True)
        key = rng.choice(("1", "1:integer" if not any(r.startswith(b"zz") for r in records) else "1", "2"))
        how = rng.choice(([], ["-u"], ["-r"])) if key != "2" else []
        return ["sort", "--record=csv", "--no-header", "--key=" + key, *how, self.write("rows", records)], longest

    def sort_of_records(self, rng):
        record = rng.randrange(MIB // 2, 4 * MIB)
        path = self.root / "records"
        path.write_bytes(b"".join(rng.randbytes(8) + bytes(record - 8)
                                  for _ in range(rng.randrange(2, 12))))
        return ["sort", f"--record=fixed:{record}", "--key=0:bytes8", path], 4 * record

    def merge(self, rng):
        paths, longest = [], 0
        for name in ("a", "b", "c")[:rng.randrange(1, 4)]:
            records, its_longest = self.text(rng)
            longest = max(longest, its_longest)
            paths.append(self.write(name, sorted(records)))
        return ["sort", "-m", *rng.choice(([], ["-u"])), *paths], longest

    def check(self, rng):
        records, longest = self.text(rng)
        return ["sort", "-c", self.write("lines", sorted(records))], longest

    def shuffle(self, rng):
        records, longest = self.text(rng)
        return ["shuf", "--seed=1", self.write("lines", records)], longest

    def set_operation(self, rng):
        records, longest = self.text(rng)
        others, other_longest = self.text(rng)
        operation = rng.choice(("union", "intersect", "except"))
        return ([operation, self.write("a", records), self.write("b", others)],
                max(longest, other_longest))

    def join(self, rng):
        records, longest = self.text(rng, True)
        others = [b"%09d,%d" % (rng.randrange(10**9), number) for number in range(rng.randrange(20_000))]
        others += rng.sample(records, min(len(records), 2))
        a, b = self.write("a", records), self.write("b", others)
        how = rng.choice(("inner", "left", "full", "anti"))
        sides = [a, b] if rng.random() < 0.5 else [b, a]
        return ["join", "--record=csv", "--no-header", "--how=" + how, "--key=1", *sides], longest

    def join_of_sorted(self, rng):
        records, longest = self.text(rng, True)
        others, _ = self.text(rng, True)
        def key(record):
            return record.partition(b",")[0]

        a, b = (self.write(name, sorted(rows, key=key))
                for name, rows in (("a", records), ("b", others)))
        return ["join", "--record=csv", "--no-header", "--presorted=both", "--key=1", a, b], longest

    def sorter(self, rng):
        records, longest = self.text(rng)
        how = rng.choice(("", "unique", "descending", "keyed", "limit", "repeatable"))
        return ["sorter", self.write("lines", records), how], longest

    def parquet(self, rng, name):
        return Table(rng, self.root / name).path

    def sort_of_parquet(self, rng):
        how = rng.choice(([], ["-r"], ["-u"], ["--limit=3"], ["--temp-compress=lz4"], ["--parallel=1"]))
        return ["sort", "--record=parquet", "--key=k", *how, self.parquet(rng, "a"), f"-o{self.out / 'o'}"], 20 * MIB

    def join_of_parquet(self, rng):
        sides = [self.parquet(rng, "a"), self.parquet(rng, "b") if rng.random() < 0.5 else self.root / "a"]
        how = rng.choice(("inner", "left", "full", "anti"))
        return ["join", "--record=parquet", "--key=k", "--how=" + how, *sides, f"--output={self.out / 'o'}"], 20 * MIB

    KINDS = (sort_of_lines, sort_of_lines, sort_of_rows, sort_of_rows, sort_of_a_pipe,
             sort_in_kept_order, sort_of_records, merge, check, shuffle, set_operation, join, join,
             join_of_sorted, sorter, sorter, sort_of_parquet, sort_of_parquet, join_of_parquet)

    def kinds(self):
        """Those wanted, without those that cannot be run here."""
        missing = {}
        if pa is None:
            missing["parquet"] = "needs pyarrow"
        elif not module_is_there():
            missing["parquet"] = "the module for Parquet and Arrow files was not built"
        if not sorter_program().exists():
            missing["sorter"] = f"{sorter_program().name} was not built"
        kinds = [kind for kind in self.KINDS if re.search(whole_process.OPTIONS.kinds, kind.__name__)]
        for name, why in missing.items():
            if any(name in kind.__name__ for kind in kinds):
                print(f"SKIPPED: {name}: {why}", file=sys.stderr)
            kinds = [kind for kind in kinds if name not in kind.__name__]
        if not kinds:
            self.skipTest("no kind of job can be run here")
        return kinds

    def command_line(self, command, memory):
        name, *rest = command
        if name == "sorter":
            return [sorter_program(), str(memory), self.scratch, *rest]
        return [whole_process.XXL, name, f"-S{memory // 1024}K",
                *(["-T", self.scratch] if "-c" not in rest else []), *rest]

    def works(self, command, memory, standard_input):
        """Whether the job works with so many bytes of -S; and its message."""
        with open(standard_input or os.devnull, "rb") as file:
            feed = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            done = subprocess.run(self.command_line(command, memory), stdin=feed.stdout,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                                  timeout=whole_process.PATIENCE_SECONDS,
                                  env={**os.environ, "LC_ALL": "C"})
            feed.stdout.close()
            feed.wait()
        message = done.stderr.decode(errors="replace")
        self.assertIn(done.returncode, (0, 2), message)
        return done.returncode == 0, message

    def test_advice_is_enough_the_first_time(self):
        rng = random.Random(whole_process.OPTIONS.seed)
        kinds = self.kinds()
        advised, held, tight = 0, 0, collections.Counter()
        of_kind = collections.Counter()
        for number in range(whole_process.OPTIONS.cases):
            case = random.Random(rng.randrange(1 << 62))
            kind = case.choice(kinds)
            command, longest, *standard_input = kind(self, case)
            standard_input = standard_input[0] if standard_input else None
            memory = max(LEAST, int(longest * case.uniform(0.2, 0.9)))
            with self.subTest(case=number, kind=kind.__name__, command=list(map(str, command))):
                works, message = self.works(command, memory, standard_input)
                if works:
                    held += 1
                    continue
                found = ADVICE.search(message.replace(f"memory of -S ", ""))
                self.assertIsNotNone(found, message)
                self.assertEqual(message.count("\n"), 1, message)
                enough = int(found["mebibytes"]) * MIB if found["mebibytes"] else int(found["bytes"])
                works, second = self.works(command, enough, standard_input)
                self.assertTrue(works, message + second)
                advised += 1
                of_kind[kind.__name__] += 1
                works, _ = self.works(command, max(enough * 3 // 4, LEAST), standard_input)
                tight[kind.__name__] += not works
        of_kinds = ", ".join(f"{name} {tight[name]}/{count}" for name, count in sorted(of_kind.items()))
        print(f"{advised} advised, {held} needed no advice; with 3/4 of it fail: {of_kinds}")
        self.assertGreaterEqual(advised, held)
        self.assertGreaterEqual(2 * tight.total(), advised)


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__], options))

"""Damaged Parquet and Arrow files (run by columns.py): one line of error, or a result that can be read."""

import os
import random
import struct

from column_tables import MAKERS, PAYLOADS, random_table, read, record_of, write
from columns_case import ColumnsTest

try:
    import pyarrow as pa
except ImportError:
    pa = None

FILES = int(os.environ.get("XXL_DAMAGED_FILES", "60"))  # of each kind
NUMBERS = (0, 1, 127, 255, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def damaged(whole, rng):
    """Some bits, numbers, or stretches of a file changed; most of them where it says what is in it: at its ends."""
    data = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 5))):
        ends = rng.random() < 0.7
        place = rng.randrange(min(600, len(data)) if ends else len(data))
        if ends and rng.random() < 0.7:
            place = len(data) - 1 - place
        kind = rng.randrange(6)
        if kind < 2:
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[place] = rng.randrange(256)
        elif kind == 3:
            number = struct.pack("<Q", rng.choice(NUMBERS))[:rng.choice((1, 2, 4, 8))]
            data[place:place + len(number)] = number
        elif kind == 4:
            del data[place:place + rng.choice((1, 4, 8, 64, len(data)))]
        else:
            data[place:place] = data[place:place + rng.choice((1, 4, 8, 64))]
        if not data:
            return bytes(data)
    return bytes(data)


class Damage(ColumnsTest):
    """Files that are not what they should be: an error, or a result that can be read where it was not hit."""

    def check(self, path, content, key):
        path.write_bytes(content)
        target = self.out / f"out{path.suffix}"
        done = self.run_xxl(record_of(path), f"--key={key}", path, "-o", target)
        self.assertIn(done.returncode, (0, 2), done.stderr)
        if done.returncode == 2:
            self.assert_fails(done, "in")
            self.assert_only_in_out()
        else:
            read(target)
            target.unlink()

    def test_any_bytes_of_a_file_may_be_wrong(self):
        for suffix in (".parquet", ".arrow", ".arrows"):
            rng = random.Random(suffix)
            for number in range(FILES):
                kinds = rng.sample(sorted(MAKERS), 2) + rng.sample(sorted(PAYLOADS), 1)
                table = random_table(rng, rng.choice((1, 60, 500)), kinds)
                path = write(table, self.root / f"in{suffix}", rng)
                with self.subTest(suffix=suffix, number=number):
                    self.check(path, damaged(path.read_bytes(), rng), table.column_names[0])

    def test_other_files(self):
        for suffix in (".parquet", ".arrow"):
            for content in (b"", b"x", b"some text that is no table at all\n" * 100, bytes(1000)):
                with self.subTest(suffix=suffix, content=content[:10]):
                    self.check(self.root / f"in{suffix}", content, "1")

    def test_files_of_other_columns(self):
        one = write(pa.table({"a": [1], "b": ["x"]}), self.root / "one.parquet")
        for table, message in [(pa.table({"a": [1]}), "has 1 columns, not 2"),
                               (pa.table({"a": [1], "c": ["x"]}), "column 2 is 'c', not 'b'"),
                               (pa.table({"a": [1.5], "b": ["x"]}), r"column 1 \('a'\) is double, not int64")]:
            other = write(table, self.root / "other.parquet")
            self.assert_fails(self.run_xxl("--record=parquet", "--key=a", one, other),
                              f"other.parquet: .*{message}.*one.parquet")

#!/usr/bin/env python3
"""Random relations of binary records, joined by xxl and by SQLite.

Keys are compared as SQLite compares the numbers and byte strings that they stand for; rows as a
multiset, and their order by key where it is that of sort-merge. Each case has a seed of its own,
printed when it fails; --seed SEED --cases 1 repeats it.
"""

import pathlib
import random
import sqlite3
import struct
import sys
import tempfile

import differential
from differential import NUMBERS, Field, run_with_least_memory

MAX_INPUT_BYTES = 2 << 20
MAX_ROWS = 60000
SQL_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}
PRESETS = ["kv32", "kv64", "u32", "u64"]


def place_fields(rng, kinds):
    """(record bytes, fields): the fields in random places of a record, without overlaps."""
    offset = 0
    places = []
    for index in rng.sample(range(len(kinds)), len(kinds)):
        offset += rng.choice([0, 0, 1, 3, 10])
        kind, size = kinds[index]
        places.append((index, Field(offset, kind, size, kind != "bytes" and rng.random() < 0.4)))
        offset += size
    offset += rng.choice([0, 1, 4, 8, 40, 200])
    return offset, [field for _, field in sorted(places, key=lambda place: place[0])]


def random_key(rng, kinds, distinct):
    """A key as a tuple of bytes, big-endian; one of about `distinct`."""
    number = int(rng.random() ** rng.choice([1, 1, 3]) * distinct)
    scattered = number * 0x9E3779B97F4A7C15 % (1 << 64)
    parts = []
    for kind, size in kinds:
        bits = scattered % (1 << (8 * min(size, 8)))
        if kind[0] == "f":  # numbers that are equal only if their bits are
            parts.append(struct.pack(">" + NUMBERS[kind], float(number + 1)))
        else:
            parts.append(bits.to_bytes(size, "big"))
    return tuple(parts)


def make_record(rng, record_bytes, fields, key):
    record = bytearray(rng.randbytes(record_bytes))
    for field, part in zip(fields, key):
        stored = part if field.kind == "bytes" or field.big_endian else part[::-1]
        record[field.offset:field.offset + field.size] = stored
    return bytes(record)


def rest_of(record, fields):
    taken = {i for f in fields for i in range(f.offset, f.offset + f.size)}
    return bytes(b for i, b in enumerate(record) if i not in taken)


class Relation:
    def __init__(self, record_bytes, fields, keys, rng):
        self.record_bytes = record_bytes
        self.fields = fields
        self.keys = keys
        self.records = [make_record(rng, record_bytes, fields, key) for key in keys]

    def sort(self, rank):
        order = sorted(range(len(self.keys)), key=lambda i: rank(self.keys[i]))
        self.keys = [self.keys[i] for i in order]
        self.records = [self.records[i] for i in order]


def default_row(r, s, i, j, how):
    """Row of record i of R and j of S, either of which may be None."""
    if how in ("semi", "anti"):
        return r.records[i]
    if i is not None:
        key = b"".join(r.records[i][f.offset:f.offset + f.size] for f in r.fields)
    else:
        key = b""
        for f, g in zip(r.fields, s.fields):
            part = s.records[j][g.offset:g.offset + g.size]
            key += part if f.kind == "bytes" or f.big_endian == g.big_endian else part[::-1]
    rests = []
    for relation, index in ((r, i), (s, j)):
        if index is not None:
            rests.append(rest_of(relation.records[index], relation.fields))
        else:
            rests.append(bytes(relation.record_bytes - sum(f.size for f in relation.fields)))
    return key + rests[0] + rests[1]


def pairs_by_sqlite(r, s, how):
    """(number in R, number in S) of each row; None where it has no such record."""
    columns = [f"k{i}" for i in range(len(r.fields))]
    database = sqlite3.connect(":memory:")
    for name, relation in (("r", r), ("s", s)):
        database.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, {', '.join(columns)})")
        marks = ", ".join("?" for _ in range(len(columns) + 1))
        database.executemany(f"INSERT INTO {name} VALUES ({marks})",
                             ((i, *key) for i, key in enumerate(relation.keys)))
    condition = " AND ".join(f"r.{c} = s.{c}" for c in columns)
    database.execute(f"CREATE INDEX si ON s ({', '.join(columns)})")
    database.execute(f"CREATE INDEX ri ON r ({', '.join(columns)})")
    if how == "semi":
        query = f"SELECT r.id, NULL FROM r WHERE EXISTS (SELECT 1 FROM s WHERE {condition})"
    elif how == "anti":
        query = f"SELECT r.id, NULL FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE {condition})"
    else:
        query = f"SELECT r.id, s.id FROM r {SQL_JOINS[how]} s ON {condition}"
    rows = database.execute(query).fetchall()
    database.close()
    return rows


def random_case(seed):
    rng = random.Random(seed)
    preset = rng.choice([None, None, *PRESETS])
    if preset:
        size = 4 if preset in ("kv32", "u32") else 8
        kinds = [("u32" if size == 4 else "u64", size)]
        record_bytes = size * 2 if preset.startswith("kv") else size
        layouts = [(record_bytes, [Field(0, kinds[0][0], size)])] * 2
    else:
        kinds = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            if rng.random() < 0.3:
                kinds.append(("bytes", rng.choice([1, 3, 8, 12, 30])))
            else:
                kind = rng.choice(sorted(NUMBERS))
                kinds.append((kind, struct.calcsize(NUMBERS[kind])))
        layouts = [place_fields(rng, kinds) for _ in range(2)]
    counts = []
    for record_bytes, _ in layouts:
        most = MAX_INPUT_BYTES // record_bytes
        counts.append(rng.randint(0, min(most, rng.choice([0, 3, 30, 300, 3000, 30000]))))
    # So few keys that there are groups, so many that the product is not too large.
    least = counts[0] * counts[1] // MAX_ROWS * 3 + 1
    distinct = max(least, rng.choice([1, 10, max(counts), 10 * max(counts)]))
    pool = [random_key(rng, kinds, distinct) for _ in range(max(counts) or 1)]
    relations = []
    for (record_bytes, fields), count in zip(layouts, counts):
        keys = [rng.choice(pool) if rng.random() < 0.7 else random_key(rng, kinds, distinct)
                for _ in range(count)]
        relations.append(Relation(record_bytes, fields, keys, rng))
    how = rng.choice([*SQL_JOINS, "semi", "anti"])
    return rng, preset, kinds, relations, how


def rank_of(kinds):
    def rank(key):
        parts = []
        for (kind, _), part in zip(kinds, key):
            parts.append(int.from_bytes(part, "big") if kind == "bytes"
                         else differential.total_order(kind, ">", part))
        return tuple(parts)
    return rank


def differing(seed, xxl, memory, directory):
    """None when xxl and SQLite agree, else what differs."""
    rng, preset, kinds, (r, s), how = random_case(seed)
    rank = rank_of(kinds)
    options = [f"--how={how}", f"--parallel={rng.choice([1, 2, 3])}", "-S", memory,
               f"--io={rng.choice(['auto', 'threads'])}", "-T", str(directory)]
    if rng.random() < 0.3:
        options.append(f"--batch-size={rng.choice([2, 3])}")
    for number, relation in (("1", r), ("2", s)):
        if rng.random() < 0.3:
            relation.sort(rank)
            if rng.random() < 0.7:
                options.append(f"--presorted={number}")
    method = rng.choice(["auto", "sort-merge", "hash"])
    options.append(f"--method={method}")
    if preset:
        options.append(f"--record={preset}")
    else:
        options += [f"--record1=fixed:{r.record_bytes}", f"--record2=fixed:{s.record_bytes}"]
        options += [f"--key1={f.spec}" for f in r.fields]
        options += [f"--key2={f.spec}" for f in s.fields]
    count_only = rng.random() < 0.1
    paths = [directory / "r", directory / "s"]
    for path, relation in zip(paths, (r, s)):
        path.write_bytes(b"".join(relation.records))
    output = directory / "out"
    command = [xxl, "join", *options, *map(str, paths)]
    command += ["--count"] if count_only else ["--output", str(output)]
    done = run_with_least_memory(command)
    shown = " ".join(command)
    if done.returncode != 0:
        return f"status {done.returncode}: {done.stderr.strip()}\n  {shown}"
    pairs = pairs_by_sqlite(r, s, how)
    if count_only:
        return None if done.stdout == f"{len(pairs)}\n" else f"counted {done.stdout}\n  {shown}"
    expected = [default_row(r, s, i, j, how) for i, j in pairs]
    row_bytes = len(expected[0]) if expected else 1
    actual = output.read_bytes()
    rows = [actual[i:i + row_bytes] for i in range(0, len(actual), row_bytes)]
    if sorted(rows) != sorted(expected):
        return f"{len(rows)} rows, not those of SQLite, {len(expected)}\n  {shown}"
    if method == "sort-merge" and rows:
        fields = r.fields if how in ("semi", "anti") else []
        offset = 0
        for f in r.fields if not fields else []:
            fields.append(Field(offset, f.kind, f.size, f.big_endian))
            offset += f.size
        ranks = [tuple(f.rank(row, False) for f in fields) for row in rows]
        if any(a > b for a, b in zip(ranks, ranks[1:])):
            return f"the rows are not in order of their keys\n  {shown}"
    return None


def run_case(seed, settings):
    with tempfile.TemporaryDirectory(dir=settings.directory) as directory:
        return "joins", differing(seed, settings.xxl, settings.memory, pathlib.Path(directory))


if __name__ == "__main__":
    sys.exit(differential.main("join_records_differential", __doc__, run_case, 400))

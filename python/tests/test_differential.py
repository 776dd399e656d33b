"""Random sorts and joins of tables against an oracle in plain Python. The tables are those of the
tests of files (tests/cli/column_tables.py).

--differential-count says how many, --differential-seed where they begin: what failed is repeated by
its seed, which is in the name of the test.
"""

import decimal
import pathlib
import random
import sys

import pytest
import xxl

pa = pytest.importorskip("pyarrow")
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "cli"))
tables = pytest.importorskip("column_tables")

# Types that not all kinds of files have.
tables.MAKERS.update({
    "large_binary": (lambda: pa.large_binary(), lambda rng: rng.randbytes(rng.choice([0, 3, 12, 50]))),
    "fixed binary of no bytes": (lambda: pa.binary(0), lambda rng: b""),
    "decimal256": (lambda: pa.decimal256(76, 0), lambda rng: decimal.Decimal(rng.choice(
        [0, 10**70, -10**70, rng.randint(-99, 99)]))),
    "dictionary of int64": (lambda: pa.dictionary(pa.uint16(), pa.int64()), lambda rng: rng.randint(-9, 9)),
})
KEYS, PAYLOADS = sorted(tables.MAKERS), sorted(tables.PAYLOADS)


def random_batches(rng, kinds, rows):
    """Batches of all sizes: also empty ones, and slices of larger ones, whose offsets are not 0."""
    batches, row = [], 0
    while row < rows or not batches:
        length = min(rows - row, rng.choice([0, 1, 7, 64, 500, rows]))
        before, after = rng.choice([(0, 0), (3, 5), (9, 0), (64, 1)])
        batch = tables.random_table(rng, before + length + after, kinds).combine_chunks()
        numbers = pa.array(range(row - before, row + length + after), pa.int64())
        batch = batch.set_column(len(kinds), "row", numbers).slice(before, length)
        batches += batch.to_batches() or [pa.RecordBatch.from_pylist([], batch.schema)]
        row += length
    return batches


def fed(rng, batches):
    """The batches as one of the things that a caller may have."""
    table = pa.Table.from_batches(batches)

    class OnlyAStream:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__()

    return rng.choice([table, pa.RecordBatchReader.from_batches(table.schema, batches), OnlyAStream()])


def key_of(table, names):
    """The keys of all rows: equal if their values are, NaN to NaN, -0.0 to 0.0; None where one is null."""
    columns = [[value if value is None else repr(tables.value_rank(value)) for value in table[name].to_pylist()]
               for name in names]
    return [None if None in key else key for key in zip(*columns)]


def first_of_equal(rows, columns):
    """The `rows` whose values in `columns` no earlier row has."""
    seen = set()
    keys = list(zip(*([repr(tables.value_rank(value)) for value in column] for column in columns)))
    return [i for i in rows if not (keys[i] in seen or seen.add(keys[i]))]


def test_sorts_of_random_tables_are_those_of_the_oracle(sort_seed):
    rng = random.Random(sort_seed)
    kinds = rng.sample(KEYS, rng.randint(1, 3)) + rng.sample(PAYLOADS, rng.randint(0, 2))
    batches = random_batches(rng, kinds, rng.choice([0, 1, 2, 10, 300, 3000]))
    table = pa.Table.from_batches(batches)
    names = rng.sample([name for name in table.column_names if not name.startswith(tuple(PAYLOADS))],
                       rng.choice([1, 1, 2]))
    directions = [(rng.random() < 0.5, rng.random() < 0.5) for _ in names]
    by = [(name, "desc" if descending else "asc", "nulls_first" if nulls_first else "nulls_last")
          for name, (descending, nulls_first) in zip(names, directions)]
    limit = rng.choice([None, None, None, rng.randint(0, table.num_rows + 1)])
    unique = rng.random() < 0.2

    columns = [table[name].to_pylist() for name in names]
    expected = tables.sorted_rows(columns, directions)
    if unique:
        expected = first_of_equal(expected, columns)
    expected = expected[:limit]
    stream = xxl.sort(fed(rng, batches), by, memory="64M", limit=limit, unique=unique,
                      batch_rows=rng.choice([None, 1, 100]))
    result = stream.read_all()
    result.validate(full=True)
    assert result.schema == table.schema
    for name in table.column_names:
        values = table[name].to_pylist()
        assert repr(result[name].to_pylist()) == repr([values[i] for i in expected])


def joined_rows(left, right, how):
    """Pairs of numbers of rows, None for no row, in no particular order; `left` and `right` are keys."""
    rows_of = {}
    for j, key in enumerate(right):
        if key is not None:
            rows_of.setdefault(key, []).append(j)
    partners = [rows_of.get(key, []) if key is not None else [] for key in left]
    if how in ("semi", "anti"):
        return [(i, None) for i, rows in enumerate(partners) if bool(rows) == (how == "semi")]
    alone = [None] if how in ("left", "full") else []
    pairs = [(i, j) for i, rows in enumerate(partners) for j in rows or alone]
    if how in ("right", "full"):
        matched = {j for rows in partners for j in rows}
        pairs += [(None, j) for j in range(len(right)) if j not in matched]
    return pairs


def test_joins_of_random_tables_are_those_of_the_oracle(join_seed):
    rng = random.Random(join_seed)
    # Both sides draw their keys from the same few rows.
    names = ["key 0", "key 1"][:rng.randint(1, 2)]
    pool = tables.random_table(rng, rng.choice([1, 3, 50]), rng.sample(KEYS, len(names)))
    pool = pool.drop_columns("row").rename_columns(names)
    sides = []
    for kind in rng.sample(KEYS + PAYLOADS, 2):
        batches = random_batches(rng, [kind], rng.choice([0, 10, 60]))
        table = pa.Table.from_batches(batches)
        drawn = tables.take(pool, [rng.randrange(len(pool)) for _ in range(table.num_rows)])
        for name in names:
            table = table.append_column(name, drawn[name])
        sides.append(table)
    left, right = sides
    how = rng.choice(["inner", "left", "right", "full", "semi", "anti"])
    stream = xxl.join(fed(rng, left.to_batches() or [pa.RecordBatch.from_pylist([], left.schema)]),
                      fed(rng, right.to_batches() or [pa.RecordBatch.from_pylist([], right.schema)]),
                      on=names, how=how, method=rng.choice(["auto", "sort-merge"]), memory="64M",
                      batch_rows=rng.choice([None, 10]))
    result = stream.read_all()
    result.validate(full=True)

    rows = joined_rows(key_of(left, names), key_of(right, names), how)
    found = result.to_pydict()
    numbers = list(zip(found["row"], found.get("row_right", [None] * result.num_rows)))
    assert sorted(numbers, key=repr) == sorted(rows, key=repr)
    # Columns have the values of the rows that they came from; keys those of either.
    for name in result.column_names:
        source, side = (left, 0) if name in left.column_names else (right, 1)
        values = source[name if name in source.column_names else name.removesuffix("_right")].to_pylist()
        for pair, value in zip(numbers, found[name]):
            if pair[side] is not None:
                assert repr(tables.value_rank(value)) == repr(tables.value_rank(values[pair[side]]))
            elif name not in names:
                assert value is None


@pytest.mark.parametrize("options", [{}, {"limit": 1000}, {"unique": True}])
def test_a_sort_through_scratch_space_is_that_of_the_oracle(options, tmp_path):
    rng = random.Random(7)
    kinds = ["int8", "string", "string_view", "list"]
    part = tables.random_table(rng, 20_000, kinds).drop_columns("row")
    table = pa.concat_tables([part] * 30)
    table = table.append_column("row", pa.array(range(len(table))))
    keys = ["int8 0", "string 1"]
    reader = table.combine_chunks().to_reader(max_chunksize=2000)
    stream = xxl.sort(reader, [(keys[0], "desc"), keys[1]], memory="24M", scratch=tmp_path, **options)
    result = stream.read_all()
    order = [(keys[0], "descending"), (keys[1], "ascending"), ("row", "ascending")]
    expected = table.select([*keys, "row"]).sort_by(order)["row"].to_pylist()
    if options.get("unique"):
        expected = first_of_equal(expected, [table[name].to_pylist() for name in keys])
    expected = expected[:options.get("limit")]
    assert result["row"].to_pylist() == expected
    for name in ("string_view 2", "list 3"):
        values = table[name].to_pylist()
        assert result[name].to_pylist() == [values[i] for i in expected]

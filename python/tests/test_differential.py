"""Random sorts and joins of tables against an oracle in plain Python.

--differential-count says how many, --differential-seed where they begin: what failed is repeated by
its seed, which is in the name of the test.
"""

import random

import pytest
import xxl

pa = pytest.importorskip("pyarrow")
random_tables = pytest.importorskip("random_tables")

KEYS = sorted(random_tables.KEY_TYPES)
PAYLOADS = sorted(random_tables.PAYLOAD_TYPES)


def fed(rng, batches, schema):
    """The batches as one of the things that a caller may have."""
    how = rng.choice(["table", "reader", "stream"])
    if how == "table":
        return pa.Table.from_batches(batches, schema)
    if how == "reader":
        return pa.RecordBatchReader.from_batches(schema, batches)

    class OnlyAStream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.Table.from_batches(batches, schema).__arrow_c_stream__()

    return OnlyAStream()


def random_columns(rng, kinds, prefix, most):
    return [(f"{prefix}{i}", rng.choice(kinds), rng.choice([0, 0, 0.1, 0.5, 1]),
             rng.choice([0, 1, 3, 20])) for i in range(rng.randint(0, most))]


def words_of(by):
    """Keys as callers write them."""
    return [(name, "desc" if descending else "asc", "nulls_first" if nulls_first else "nulls_last")
            for name, descending, nulls_first in by]


def test_sorts_of_random_tables_are_those_of_the_oracle(sort_seed):
    rng = random.Random(sort_seed)
    keys = random_columns(rng, KEYS, "key", 3) or [("key0", rng.choice(KEYS), 0.1, 0)]
    columns = keys + random_columns(rng, PAYLOADS, "other", 4)
    rng.shuffle(columns)
    rows = rng.choice([0, 1, 2, 10, 300, 3000])
    batches = random_tables.number_rows(random_tables.random_batches(rng, columns, rows), "row")
    table = pa.Table.from_batches(batches)
    by = [(name, rng.random() < 0.5, rng.random() < 0.5) for name, *_ in keys]
    limit = rng.choice([None, None, None, rng.randint(0, rows + 1)])
    unique = rng.random() < 0.2

    expected = random_tables.sorted_rows(table, by)
    if unique:
        expected = random_tables.first_of_equal(table, expected, [name for name, *_ in keys])
    expected = expected[:limit]
    stream = xxl.sort(fed(rng, batches, table.schema), words_of(by), memory="64M", limit=limit,
                      unique=unique, batch_rows=rng.choice([None, 1, 100]))
    result = stream.read_all()
    result.validate(full=True)
    assert result.schema == table.schema
    assert result["row"].to_pylist() == expected
    shown = random_tables.shown(table)
    assert random_tables.shown(result) == [[column[i] for i in expected] for column in shown]


COMMON = {  # types that values of both sides become
    ("int8", "int32"): "int32", ("uint8", "int16"): "int16", ("int32", "int64"): "int64",
    ("float32", "float64"): "float64",
    ("utf8", "large_utf8"): "utf8",  # its values may be as long; batches are not
}


def test_joins_of_random_tables_are_those_of_the_oracle(join_seed):
    rng = random.Random(join_seed)
    pairs = [rng.choice([(kind, kind) for kind in KEYS] + sorted(COMMON))
             for _ in range(rng.randint(1, 2))]
    few = rng.choice([1, 3, 50])
    nulls = rng.choice([0, 0.2])
    # Both sides draw from the same values, which the type of either can hold.
    pools = [[random_tables.KEY_TYPES[kinds[0]][1](rng) for _ in range(few)] for kinds in pairs]
    left_keys = [(f"key{i}", kinds[0], nulls, pools[i]) for i, kinds in enumerate(pairs)]
    right_keys = [(f"{rng.choice(['key', 'other'])}{i}", kinds[1], nulls, pools[i])
                  for i, kinds in enumerate(pairs)]
    left_columns = left_keys + random_columns(rng, PAYLOADS, "left", 2)
    right_columns = right_keys + random_columns(rng, PAYLOADS, "right", 2)
    most = 60 if few < 50 else 600
    left_batches, right_batches = (
        random_tables.number_rows(
            random_tables.random_batches(rng, columns, rng.randint(0, most)), "row")
        for columns in (left_columns, right_columns))
    left, right = map(pa.Table.from_batches, (left_batches, right_batches))
    left_on = [name for name, *_ in left_keys]
    right_on = [name for name, *_ in right_keys]
    how = rng.choice(["inner", "left", "right", "full", "semi", "anti"])
    method = rng.choice(["auto", "sort-merge"])

    expected = random_tables.joined_rows(left, right, left_on, right_on, how)
    stream = xxl.join(fed(rng, left_batches, left.schema), fed(rng, right_batches, right.schema),
                      left_on=left_on, right_on=right_on, how=how, method=method, memory="64M",
                      batch_rows=rng.choice([None, 10]))
    result = stream.read_all()
    result.validate(full=True)
    with_right = how not in ("semi", "anti")
    others = [name for name in right.column_names if name not in right_on] if with_right else []
    names = left.column_names + [
        name + "_right" if name in left.column_names else name for name in others]
    assert result.column_names == names

    found = list(zip(result["row"].to_pylist(),
                     result["row_right"].to_pylist() if with_right
                     else [None] * result.num_rows))
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    # Columns have the values of the rows that they came from; keys those of either.
    shown_left, shown_right = random_tables.shown(left), random_tables.shown(right)
    key_types = dict(zip(left_on, pairs))
    for name, column in zip(names, random_tables.shown(result)):
        if name in key_types:
            left_column = random_tables.keys_of(left, [name])
            right_column = random_tables.keys_of(right, [right_on[left_on.index(name)]])
            values = random_tables.keys_of(result, [name])
            assert values == [left_column[i] if i is not None else right_column[j]
                              for i, j in found]
        elif name in left.column_names:
            source = shown_left[left.column_names.index(name)]
            assert column == [source[i] if i is not None else "None" for i, _ in found]
        else:
            source = shown_right[right.column_names.index(others[names.index(name) - len(
                left.column_names)])]
            assert column == [source[j] if j is not None else "None" for _, j in found]
    for name, kinds in key_types.items():
        if kinds[0] != kinds[1]:
            kind = random_tables.KEY_TYPES[COMMON[kinds]][0]
            assert result.schema.field(name).type == kind
    if method != "sort-merge":
        return
    # Keys without null are in order.
    values = [key for key in random_tables.keys_of(result, left_on) if None not in key]
    in_order = [tuple(map(order_key, key)) for key in values]
    assert in_order == sorted(in_order)


def order_key(value):
    return (1, 0) if value == "NaN" else (0, value)


@pytest.mark.parametrize("options", [{}, {"limit": 1000}, {"unique": True}])
def test_a_sort_through_scratch_space_is_that_of_the_oracle(options, tmp_path):
    rng = random.Random(7)
    columns = [("a", "int16", 0.1, 0), ("b", "utf8", 0.1, 50), ("c", "utf8 view", 0, 0),
               ("d", "list", 0.1, 0)]
    part = random_tables.random_batches(rng, columns, 20_000)
    batches = random_tables.number_rows(part * 30, "row")
    table = pa.Table.from_batches(batches)
    order = [("a", "descending"), ("b", "ascending"), ("row", "ascending")]
    reader = table.combine_chunks().to_reader(max_chunksize=2000)
    stream = xxl.sort(reader, [("a", "desc"), "b"], memory="24M", scratch=tmp_path, **options)
    result = stream.read_all()
    expected = table.select(["a", "b", "row"]).sort_by(order)["row"].to_pylist()
    if options.get("unique"):
        expected = random_tables.first_of_equal(table, expected, ["a", "b"])
    expected = expected[:options.get("limit")]
    assert result["row"].to_pylist() == expected
    for name in ("c", "d"):
        values = table[name].to_pylist()
        assert result[name].to_pylist() == [values[i] for i in expected]

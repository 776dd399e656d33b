"""Random tables, and an oracle of sorts and joins in plain Python."""

import decimal
import math
import struct

import pyarrow as pa

# --- values ---


def integer_values(bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    edges = [low, low + 1, high, high - 1, 0, 1]
    near = [value for value in range(-3, 4) if low <= value <= high]
    return lambda rng: rng.choice([rng.choice(edges), rng.choice(near), rng.randint(low, high)])


FLOAT_EDGES = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324, -5e-324,
               1.7e308, 0.5]


def float_value(rng):
    return rng.choice([rng.choice(FLOAT_EDGES), rng.gauss(0, 1e3),
                       struct.unpack("d", rng.randbytes(8))[0]])


def small_float_values(letter):
    return lambda rng: rng.choice([
        rng.choice([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0]),
        struct.unpack(letter, rng.randbytes(struct.calcsize(letter)))[0]])


def decimal_values(digits, scale):
    def value(rng):
        most = 10 ** rng.randint(0, digits) - 1
        number = rng.choice([0, 1, -1, most, -most, rng.randint(-most, most)])
        return decimal.Decimal(number).scaleb(-scale, decimal.Context(prec=100))

    return value


ALPHABET = ["", "a", "b", "\0", "ä", "z", "\U0001f600", "\x7f"]


def text_value(rng):
    return rng.choice([
        rng.choice(["", "a", "b", "ab", "a\0", "abcdefgh", "abcdefghi", "abcdefghijkl",
                    "abcdefghijklm"]),
        "".join(rng.choices(ALPHABET, k=rng.randint(0, 40))),
        "common prefix " * rng.randint(0, 4) + str(rng.randint(0, 99)),
    ])


def bytes_value(rng):
    return rng.choice([text_value(rng).encode(), rng.randbytes(rng.randint(0, 20)),
                       bytes(rng.randint(0, 9)), b"\xff" * rng.randint(0, 9)])


# Name: (type, a function of a random generator). Temporal types are made of their integers.
INTEGERS = {
    f"{'' if signed else 'u'}int{bits}": (getattr(pa, f"{'' if signed else 'u'}int{bits}")(),
                                          integer_values(bits, signed))
    for bits in (8, 16, 32, 64) for signed in (True, False)
}
DAYS = integer_values(16, True)
SECONDS = integer_values(33, True)
KEY_TYPES = {
    **INTEGERS,
    "float16": (pa.float16(), small_float_values("e")),
    "float32": (pa.float32(), small_float_values("f")),
    "float64": (pa.float64(), float_value),
    "bool": (pa.bool_(), lambda rng: rng.random() < 0.5),
    "decimal128": (pa.decimal128(38, 5), decimal_values(38, 5)),
    "decimal128 small": (pa.decimal128(7, 2), decimal_values(7, 2)),
    "decimal256": (pa.decimal256(76, 0), decimal_values(76, 0)),
    "date32": (pa.date32(), DAYS),
    "date64": (pa.date64(), lambda rng: DAYS(rng) * 86_400_000),
    "time32": (pa.time32("ms"), lambda rng: rng.randrange(86_400_000)),
    "time64": (pa.time64("ns"), lambda rng: rng.randrange(86_400) * 10**9 + rng.randrange(9)),
    "timestamp": (pa.timestamp("s"), SECONDS),
    "timestamp with zone": (pa.timestamp("us", "Europe/Berlin"),
                            lambda rng: SECONDS(rng) * 10**6),
    "duration": (pa.duration("ms"), integer_values(40, True)),
    "utf8": (pa.utf8(), text_value),
    "large_utf8": (pa.large_utf8(), text_value),
    "utf8 view": (pa.string_view(), text_value),
    "binary": (pa.binary(), bytes_value),
    "large_binary": (pa.large_binary(), bytes_value),
    "binary view": (pa.binary_view(), bytes_value),
    "fixed binary": (pa.binary(5), lambda rng: rng.choice(
        [bytes(5), b"\xff" * 5, rng.randbytes(5), b"abcd" + rng.randbytes(1)])),
    "fixed binary of no bytes": (pa.binary(0), lambda rng: b""),
    "dictionary of utf8": (pa.dictionary(pa.int8(), pa.utf8()), lambda rng: rng.choice("abcdef")),
    "dictionary of int64": (pa.dictionary(pa.uint16(), pa.int64()),
                            lambda rng: rng.randint(-9, 9)),
    "null": (pa.null(), lambda rng: None),
}


def list_value(rng):
    return [rng.choice([None, rng.randint(-5, 5)]) for _ in range(rng.randint(0, 3))]


PAYLOAD_TYPES = {
    **KEY_TYPES,
    "list": (pa.list_(pa.int32()), list_value),
    "large list": (pa.large_list(pa.utf8()), lambda rng: [text_value(rng)] * rng.randint(0, 2)),
    "list of fixed size": (pa.list_(pa.int16(), 2), lambda rng: [1, None]),
    "struct": (pa.struct([("x", pa.int8()), ("y", pa.utf8())]),
               lambda rng: {"x": rng.choice([None, 7]), "y": text_value(rng)}),
    "map": (pa.map_(pa.utf8(), pa.int32()),
            lambda rng: [(key, rng.randint(0, 9)) for key in "xyz"[:rng.randint(0, 3)]]),
    "list of structs": (pa.list_(pa.struct([("x", pa.list_(pa.utf8()))])),
                        lambda rng: [{"x": [text_value(rng)]}] * rng.randint(0, 2)),
    "empty struct": (pa.struct([]), lambda rng: {}),
}


def integer_type(kind):
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def make_array(kind, values):
    if pa.types.is_temporal(kind):
        return pa.array(values, integer_type(kind)).view(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_float16(kind):
        import numpy as np

        return pa.array([None if value is None else np.float16(value) for value in values], kind)
    return pa.array(values, kind)


def random_array(rng, kind, value, count, null_share, few):
    """`few`: values are drawn from so many, 0 for any; or from these."""
    if few:
        pool = few if isinstance(few, list) else [value(rng) for _ in range(few)]
        draw = lambda: rng.choice(pool)  # noqa: E731
    else:
        draw = lambda: value(rng)  # noqa: E731
    return make_array(kind, [None if rng.random() < null_share else draw() for _ in range(count)])


def random_batches(rng, columns, rows):
    """`columns`: (name, type name, share of nulls, few). Batches of all sizes, also empty ones, and
    slices of larger ones, whose offsets are not 0."""
    batches = []
    while rows > 0 or not batches:
        length = min(rows, rng.choice([0, 1, 7, 64, 500, rows]))
        before, after = rng.choice([(0, 0), (0, 0), (3, 5), (9, 0), (64, 1)])
        arrays = [
            random_array(rng, *PAYLOAD_TYPES[kind], before + length + after, nulls, few)
            for _, kind, nulls, few in columns
        ]
        batch = pa.RecordBatch.from_arrays(arrays, [name for name, *_ in columns])
        batches.append(batch.slice(before, length))
        rows -= length
        if rows == 0:
            break
    return batches


def number_rows(batches, name):
    """With a column that numbers all rows."""
    numbered, first = [], 0
    for batch in batches:
        numbers = pa.array(range(first, first + batch.num_rows), pa.int64())
        numbered.append(batch.append_column(name, numbers))
        first += batch.num_rows
    return numbered


# --- values of columns as Python compares them ---


def plain(column):
    """The values of a column: temporal ones as integers, floats as they are, strings as bytes."""
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in plain(chunk)]
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if pa.types.is_temporal(kind):
        return column.view(integer_type(kind)).to_pylist()
    values = column.to_pylist()
    if pa.types.is_float16(kind):
        return [None if value is None else float(value) for value in values]
    return [value.encode() if isinstance(value, str) else value for value in values]


def sort_key(value):
    """NaN above all numbers, -0.0 as 0.0."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


def sorted_rows(table, by):
    """The numbers of the rows in order of `by`: (name, descending, nulls first)."""
    order = list(range(table.num_rows))
    for name, descending, nulls_first in reversed(by):
        values = plain(table[name])
        nulls = [i for i in order if values[i] is None]
        others = [i for i in order if values[i] is not None]
        others.sort(key=lambda i: sort_key(values[i]), reverse=descending)
        order = nulls + others if nulls_first else others + nulls
    return order


def shown(table):
    """The contents of a table as texts, in which NaNs are alike."""
    return [[repr(value) for value in plain(column)] for column in table.columns]


def join_key(value):
    """Equal if the values are, NaN to NaN, -0.0 to 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def keys_of(table, names):
    columns = [[join_key(value) for value in plain(table[name])] for name in names]
    return list(zip(*columns)) if columns else []


def first_of_equal(table, rows, names):
    """Of `rows`, which are numbers of rows, those whose keys no row before them has."""
    keys, seen = keys_of(table, names), set()
    return [i for i in rows if not (keys[i] in seen or seen.add(keys[i]))]


def joined_rows(left, right, left_on, right_on, how):
    """Pairs of numbers of rows, None for no row, in no particular order."""
    right_keys = keys_of(right, right_on)
    rows_of = {}
    for j, key in enumerate(right_keys):
        if None not in key:
            rows_of.setdefault(key, []).append(j)
    pairs, matched = [], set()
    for i, key in enumerate(keys_of(left, left_on)):
        partners = rows_of.get(key, []) if None not in key else []
        matched.update(partners)
        if how == "semi":
            pairs += [(i, None)] if partners else []
        elif how == "anti":
            pairs += [] if partners else [(i, None)]
        else:
            pairs += [(i, j) for j in partners]
            if not partners and how in ("left", "full"):
                pairs.append((i, None))
    if how in ("right", "full"):
        pairs += [(None, j) for j in range(right.num_rows) if j not in matched]
    return pairs

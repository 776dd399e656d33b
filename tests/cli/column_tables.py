"""Tables for tests, at random, in files; and the order that xxl gives them, by Python's sort."""

import datetime
import decimal
import functools
import math
import random

try:
    import pyarrow as pa
    import pyarrow.ipc
    import pyarrow.parquet as pq
except ImportError:
    pa = None


def word(rng):
    return "".join(rng.choice("abcä€\0\U0001F600") for _ in range(rng.choice([0, 1, 2, 3, 20])))


EPOCH = datetime.datetime(1970, 1, 1)
MAKERS = {
    "int8": (lambda: pa.int8(), lambda rng: rng.randint(-128, 127)),
    "uint16": (lambda: pa.uint16(), lambda rng: rng.randint(0, 65535)),
    "int32": (lambda: pa.int32(), lambda rng: rng.choice([-2**31, 2**31 - 1, rng.randint(-50, 50)])),
    "int64": (lambda: pa.int64(), lambda rng: rng.choice([-2**63, 2**63 - 1, rng.randint(-9, 9)])),
    "uint64": (lambda: pa.uint64(), lambda rng: rng.choice([0, 2**64 - 1, 2**63, rng.randint(0, 99)])),
    "float": (lambda: pa.float32(), lambda rng: rng.choice([math.nan, math.inf, -0.0, 0.0, 1.5, -1.5])),
    "double": (lambda: pa.float64(), lambda rng: rng.choice([math.nan, -math.inf, -0.0, 0.0, rng.random()])),
    "bool": (lambda: pa.bool_(), lambda rng: rng.random() < 0.5),
    "date": (lambda: pa.date32(), lambda rng: EPOCH.date() + datetime.timedelta(rng.randint(-999, 999))),
    "timestamp": (lambda: pa.timestamp("us"), lambda rng: EPOCH + datetime.timedelta(seconds=rng.randint(-99, 99))),
    "time": (lambda: pa.time64("us"), lambda rng: datetime.time(rng.randint(0, 23), rng.randint(0, 59))),
    "duration": (lambda: pa.duration("us"), lambda rng: datetime.timedelta(seconds=rng.randint(-99, 99))),
    "decimal": (lambda: pa.decimal128(20, 3), lambda rng: decimal.Decimal(rng.randint(-10**6, 10**6)).scaleb(-3)),
    "string": (lambda: pa.string(), word),
    "large_string": (lambda: pa.large_string(), word),
    "binary": (lambda: pa.binary(), lambda rng: rng.randbytes(rng.randint(0, 3))),
    "fixed": (lambda: pa.binary(3), lambda rng: rng.randbytes(3)),
    "string_view": (lambda: pa.string_view(), word),
    "binary_view": (lambda: pa.binary_view(), lambda rng: rng.randbytes(rng.choice([0, 3, 12, 13, 50]))),
    "dictionary": (lambda: pa.dictionary(pa.int32(), pa.string()), lambda rng: rng.choice(["x", "y", "zz", ""])),
}
PAYLOADS = {
    "list": (lambda: pa.list_(pa.int32()), lambda rng: [rng.randint(0, 9) for _ in range(rng.randint(0, 3))]),
    "struct": (lambda: pa.struct([("a", pa.int16()), ("b", pa.list_(pa.string()))]),
               lambda rng: {"a": rng.randint(0, 9), "b": [word(rng)]}),
    "map": (lambda: pa.map_(pa.string(), pa.int64()), lambda rng: [(str(i), i) for i in range(rng.randint(0, 2))]),
    "null": (lambda: pa.null(), lambda rng: None),
}


def random_column(rng, kind, rows):
    type_of, make = {**MAKERS, **PAYLOADS}[kind]
    nulls = rng.choice([0, 0, 0.1, 0.9])
    return pa.array([None if rng.random() < nulls else make(rng) for _ in range(rows)], type_of())


def random_table(rng, rows, kinds):
    columns = {f"{kind} {i}": random_column(rng, kind, rows) for i, kind in enumerate(kinds)}
    columns["row"] = pa.array(range(rows), pa.int64())
    return pa.table(columns).replace_schema_metadata({"who": "the test"})


def value_rank(value):
    """What values of one column compare as: NaN above all, text by its bytes."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value.encode() if isinstance(value, str) else value


def sorted_rows(values_of_keys, keys):
    """The places of the rows in order; `keys` are (descending, nulls first)."""
    ranks = [[None if v is None else value_rank(v) for v in values] for values in values_of_keys]

    def compare(a, b):
        for rank, (descending, nulls_first) in zip(ranks, keys):
            x, y = rank[a], rank[b]
            if x == y:
                continue
            if x is None or y is None:
                return -1 if (x is None) == nulls_first else 1
            return -1 if (x < y) != descending else 1
        return a - b
    return sorted(range(len(ranks[0])), key=functools.cmp_to_key(compare))


def take(table, order):
    # pyarrow takes no rows of views.
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    schema = pa.schema([field.with_type(plain.get(field.type, field.type)) for field in table.schema],
                       metadata=table.schema.metadata)
    return table.cast(schema).take(pa.array(order, pa.int64())).cast(table.schema)


def texts(table):
    """The values column by column, as text, so that NaN equals NaN."""
    return [repr(column.to_pylist()) for column in table.columns]


def write(table, path, rng=None, least_rows=50):
    rng = rng or random.Random(1)
    rows = rng.choice([1, 7, 100, 1000, 100000])
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=max(rows, least_rows), compression=rng.choice(["zstd", "snappy", "none"]),
                       data_page_version=rng.choice(["1.0", "2.0"]), use_dictionary=rng.random() < 0.5,
                       data_page_size=rng.choice([100, 1 << 20]))
        return path
    options = pa.ipc.IpcWriteOptions(compression=rng.choice([None, "lz4", "zstd"]))
    make = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    with make(path, table.schema, options=options) as writer:
        for batch in table.combine_chunks().to_batches(max_chunksize=max(rows, least_rows)):
            writer.write_batch(batch)
    return path


def read(path):
    if path.suffix == ".parquet":
        return pq.read_table(path)
    if path.suffix == ".arrows":
        return pa.ipc.open_stream(path.read_bytes()).read_all()
    return pa.ipc.open_file(path.read_bytes()).read_all()


def record_of(path):
    return "--record=parquet" if path.suffix == ".parquet" else "--record=arrow"

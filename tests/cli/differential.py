#!/usr/bin/env python3
"""Random files and keys, sorted by xxl and by Python's stable sort, compared byte for byte.

Each case has a seed of its own, printed when it fails; --seed SEED --cases 1 repeats it.
"""

import dataclasses
import fractions
import itertools
import math
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

import random_cases

NUMBERS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i",
           "i64": "q", "f32": "f", "f64": "d"}
PRESETS = {  # record bytes, and the key that belongs to it
    "u32": (4, "0:u32"), "u64": (8, "0:u64"), "i32": (4, "0:i32"), "i64": (8, "0:i64"),
    "f32": (4, "0:f32"), "f64": (8, "0:f64"), "kv32": (8, "0:u32"), "kv64": (16, "0:u64"),
    "gensort": (100, "0:bytes10")}
MAX_INPUT_BYTES = 6 << 20
TIMEOUT_SECONDS = 300


@dataclasses.dataclass
class Field:
    """One --key, with its meaning spelled out for Python."""
    offset: int
    kind: str  # a name of NUMBERS, or "bytes"
    size: int
    big_endian: bool = False
    order: str = ""  # "", "asc" or "desc"

    @property
    def spec(self):
        kind = f"bytes{self.size}" if self.kind == "bytes" else self.kind + "be" * self.big_endian
        return f"{self.offset}:{kind}" + (f":{self.order}" if self.order else "")

    def rank(self, record, reverse):
        """A number or byte string in ascending order of the key."""
        data = record[self.offset:self.offset + self.size]
        if self.kind == "bytes":
            value = int.from_bytes(data, "big")
        else:
            order = ">" if self.big_endian else "<"
            value = total_order(self.kind, order, data)
        descending = self.order == "desc" or (reverse and self.order == "")
        return -value if descending else value


def total_order(kind, order, data):
    """IEEE 754 totalOrder for floats: by magnitude bits, negated with the sign."""
    if kind[0] != "f":
        return struct.unpack(order + NUMBERS[kind], data)[0]
    bits = struct.unpack(order + ("I" if kind == "f32" else "Q"), data)[0]
    sign = 1 << (8 * len(data) - 1)
    return bits if bits < sign else -(bits - sign) - 1


class Overflow(Exception):
    pass


def rounded(value, kind):
    """The float of `kind` that is nearest to a fraction, ties to even."""
    bits, lowest, top = (24, -149, 128) if kind == "f32" else (53, -1074, 1024)
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < fractions.Fraction(2) ** exponent:
        exponent -= 1
    unit = fractions.Fraction(2) ** max(exponent - bits + 1, lowest)
    result = round(size / unit) * unit
    if result >= fractions.Fraction(2) ** top:
        raise Overflow
    return float(result if value > 0 else -result)


def parse_field(spec):
    offset, kind = spec.split(":")
    if kind.startswith("bytes"):
        return Field(int(offset), "bytes", int(kind[5:]))
    return Field(int(offset), kind, struct.calcsize(NUMBERS[kind]))


def random_field(rng, record_bytes):
    order = rng.choice(["", "", "asc", "desc"])
    fitting = [name for name, code in NUMBERS.items() if struct.calcsize(code) <= record_bytes]
    if rng.random() < 0.3 or not fitting:
        size = rng.randint(1, min(record_bytes, rng.choice([3, 8, 20, 64])))
        return Field(rng.randint(0, record_bytes - size), "bytes", size, order=order)
    kind = rng.choice(fitting)
    size = struct.calcsize(NUMBERS[kind])
    return Field(rng.randint(0, record_bytes - size), kind, size, rng.random() < 0.5, order)


FOLDS = ("sum", "sum", "min", "max", "mean", "first", "last")


def random_folds(rng, record_bytes, keys):
    """Folds of fields that overlap neither keys nor each other."""
    taken = {i for key in keys for i in range(key.offset, key.offset + key.size)}
    folds = []
    for _ in range(rng.choice([0, 1, 1, 2, 3, 5])):
        field, fold = random_field(rng, record_bytes), rng.choice(FOLDS)
        places = set(range(field.offset, field.offset + field.size))
        if not places & taken and (field.kind != "bytes" or fold not in ("sum", "mean")):
            taken |= places
            folds.append((fold, dataclasses.replace(field, order="")))
    return folds


def random_records(rng, record_bytes, count):
    """Records with many or few distinct bytes, so that ties happen at every length of prefix."""
    style = rng.choice(["random", "two values", "few records", "long prefix", "all equal"])
    if style == "random":
        data = rng.randbytes(record_bytes * count)
        return [data[i:i + record_bytes] for i in range(0, len(data), record_bytes)]
    if style == "two values":
        return [bytes(rng.choices(b"\x00\xff", k=record_bytes)) for _ in range(count)]
    if style == "few records":
        pool = [rng.randbytes(record_bytes) for _ in range(rng.randint(2, 9))]
        return [rng.choice(pool) for _ in range(count)]
    if style == "long prefix":
        prefix = rng.randbytes(max(0, record_bytes - 2))
        return [prefix + rng.randbytes(record_bytes - len(prefix)) for _ in range(count)]
    return [rng.randbytes(record_bytes)] * count


@dataclasses.dataclass
class Case:
    seed: int
    record: str
    record_bytes: int
    fields: list  # the key in effect
    given_keys: list
    reverse: bool
    unique: bool
    files: list  # of lists of records
    options: list
    folds: list = dataclasses.field(default_factory=list)  # each a name and a field
    count: bool = False

    def sort_key(self, record):
        return tuple(field.rank(record, self.reverse) for field in self.fields)

    def expected(self):
        records = sorted((r for file in self.files for r in file), key=self.sort_key)
        if self.folds or self.count:
            groups = itertools.groupby(records, key=self.sort_key)
            return b"".join(self.folded(list(group)) for _, group in groups)
        if not self.unique:
            return b"".join(records)
        kept = []
        last = None
        for record in records:
            key = self.sort_key(record)
            if key != last:
                kept.append(record)
            last = key
        return b"".join(kept)

    def folded(self, group):
        """One record for a group of equal keys. Raises Overflow."""
        out = bytearray(group[0])
        for fold, field in self.folds if len(group) > 1 else []:
            if fold not in ("sum", "mean"):
                place = slice(field.offset, field.offset + field.size)
                chosen = {"min": lambda: min(group, key=lambda record: field.rank(record, False)),
                          "max": lambda: max(group, key=lambda record: field.rank(record, False)),
                          "first": lambda: group[0], "last": lambda: group[-1]}[fold]()
                out[place] = chosen[place]
                continue
            divisor = len(group) if fold == "mean" else 1
            code = (">" if field.big_endian else "<") + NUMBERS[field.kind]
            values = [struct.unpack_from(code, record, field.offset)[0] for record in group]
            try:
                if field.kind[0] != "f":
                    total = round(fractions.Fraction(sum(values), divisor))  # ties to even
                elif all(map(math.isfinite, values)):
                    total = rounded(sum(map(fractions.Fraction, values)) / divisor, field.kind)
                else:
                    total = sum(value for value in values if not math.isfinite(value))
                struct.pack_into(code, out, field.offset, total)
            except struct.error as error:
                raise Overflow from error
        return bytes(out) + (struct.pack("<Q", len(group)) if self.count else b"")


def random_case(seed, memory):
    rng = random.Random(seed)
    if rng.random() < 0.5:
        record = rng.choice(sorted(PRESETS))
        record_bytes, own_key = PRESETS[record]
    else:
        record_bytes = rng.choice([1, 2, 3, 5, 7, 8, 12, 16, 24, 33, 100, 333, rng.randint(1, 5000)])
        record = f"fixed:{record_bytes}"
        own_key = f"0:bytes{record_bytes}"
    given = [random_field(rng, record_bytes) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    most = rng.choice([10, 1000, MAX_INPUT_BYTES // record_bytes])
    total = rng.randint(0, min(most, MAX_INPUT_BYTES // record_bytes))
    records = random_records(rng, record_bytes, total)
    cuts = sorted(rng.randint(0, total) for _ in range(rng.choice([0, 0, 1, 3])))
    files = [records[a:b] for a, b in zip([0, *cuts], [*cuts, total])]
    options = ["-S", memory, f"--parallel={rng.choice([1, 2, 3, 8])}",
               f"--io={rng.choice(['auto', 'threads'])}"]
    if rng.random() < 0.5:
        options.append(f"--batch-size={rng.choice([2, 3, 8])}")
    if rng.random() < 0.3:
        options.append("--verify")
    case = Case(seed, record, record_bytes, given or [parse_field(own_key)], given,
                rng.random() < 0.3, rng.random() < 0.2, files, options)
    if rng.random() < 0.3:
        case.unique = False
        case.count = rng.random() < 0.6
        case.folds = random_folds(rng, record_bytes, case.fields)
        tame(rng, case)
    if rng.random() < 0.15:  # merge: inputs must be sorted
        case.files = [sorted(file, key=case.sort_key) for file in case.files]
        case.options.append("-m")
    return case


def tame(rng, case):
    """Mostly, makes sums fit, and no number infinite or none: what these become has many forms."""
    fields = [f for fold, f in case.folds
              if fold in ("sum", "mean") and (f.kind[0] == "f" or rng.random() < 0.8)]

    def tamed(record):
        data = bytearray(record)
        for field in fields:
            top = field.offset if field.big_endian else field.offset + field.size - 1
            if field.kind[0] == "f":
                data[top] &= 0xbf  # exponents below the middle
            elif field.size > 2:
                data[top] = 0
        return bytes(data)
    case.files = [[tamed(record) for record in file] for file in case.files]


def run_with_least_memory(command):
    """Runs `command`; when xxl says that it needs more memory, gives it what it asks for."""
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=TIMEOUT_SECONDS)
    needed = re.search(r"give at least -S (\d+M)", done.stderr)
    if done.returncode == 2 and needed:
        command[command.index("-S") + 1] = needed.group(1)
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_SECONDS)
    return done


def differing(case, xxl, directory):
    """None when xxl and Python agree, else what differs."""
    names = []
    for index, file in enumerate(case.files):
        path = directory / f"in{index}"
        path.write_bytes(b"".join(file))
        names.append(str(path))
    output = directory / "out"
    command = [xxl, "sort", f"--record={case.record}", *case.options, "-T", str(directory),
               *(f"--key={field.spec}" for field in case.given_keys),
               *(["-r"] if case.reverse else []), *(["-u"] if case.unique else []),
               *(f"--{fold}={field.spec}" for fold, field in case.folds),
               *(["--count"] if case.count else []), *names, "-o", str(output)]
    done = run_with_least_memory(command)
    shown = " ".join(command)
    try:
        expected = case.expected()
    except Overflow:
        if done.returncode == 2 and "does not fit in" in done.stderr and not output.exists():
            return None
        return f"no overflow, but status {done.returncode}: {done.stderr.strip()}\n  {shown}"
    if done.returncode != 0:
        return f"status {done.returncode}: {done.stderr.strip()}\n  {shown}"
    actual = output.read_bytes()
    if actual == expected:
        return None
    place = next((i for i, (a, b) in enumerate(zip(actual, expected)) if a != b),
                 min(len(actual), len(expected)))
    return (f"{len(actual)} bytes instead of {len(expected)}, first difference in record "
            f"{place // case.record_bytes}\n  {shown}")


def run_case(seed, settings):
    with tempfile.TemporaryDirectory(dir=settings.directory) as directory:
        return "records", differing(random_case(seed, settings.memory), settings.xxl, pathlib.Path(directory))


def main(suite, doc, run, cases):
    parser = random_cases.options_of(doc, cases, 2)
    parser.add_argument("--memory", default="1M", help="-S; where it is too small, what xxl asks for")
    settings = parser.parse_args()
    return random_cases.run_all(suite, run, settings, lambda seed: f"--cases 1 --memory {settings.memory}")


if __name__ == "__main__":
    sys.exit(main("differential", __doc__, run_case, 40))

#!/usr/bin/env python3
"""Binary records to and from text, for the command-line tests.

    records pack u64 3 1 2 > file          numbers to records of one field
    records pack u32,bytes3 7 abc 5 xyz    records of several fields, no padding between them
    records show u64 < file                one line a record, fields separated by blanks
    records same-multiset SIZE A B...      A holds the same records of SIZE bytes as all B together

Fields: u8 u16 u32 u64 i8 ... i64 f32 f64, each with be for big-endian, and bytesN. Floats may be
written as bits in hexadecimal (0x7ff8000000000000) and are shown so when they are NaN.
"""

import collections
import struct
import sys

CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i",
         "i64": "q", "f32": "f", "f64": "d"}
BITS = {"f": "I", "d": "Q"}


def field_format(name):
    """The struct format of a field, with byte order."""
    if name.startswith("bytes"):
        return name[len("bytes"):] + "s"
    return (">" if name.endswith("be") else "<") + CODES[name.removesuffix("be")]


def pack_field(fmt, text):
    if fmt.endswith("s"):
        return struct.pack(fmt, text.encode())
    if fmt[1] in BITS and text.lower().startswith("0x"):
        return struct.pack(fmt[0] + BITS[fmt[1]], int(text, 16))
    return struct.pack(fmt, float(text) if fmt[1] in BITS else int(text, 0))


def show_field(fmt, data):
    (value,) = struct.unpack(fmt, data)
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if value != value:
        return hex(struct.unpack(fmt[0] + BITS[fmt[1]], data)[0])
    return str(value)


def pack(fields, values):
    formats = [field_format(name) for name in fields.split(",")]
    for index, value in enumerate(values):
        sys.stdout.buffer.write(pack_field(formats[index % len(formats)], value))


def show(fields):
    formats = [field_format(name) for name in fields.split(",")]
    sizes = [struct.calcsize(fmt) for fmt in formats]
    data = sys.stdin.buffer.read()
    place = 0
    while place < len(data):
        shown = []
        for fmt, size in zip(formats, sizes):
            shown.append(show_field(fmt, data[place:place + size]))
            place += size
        print(" ".join(shown))


def count_records(size, paths):
    counts = collections.Counter()
    for path in paths:
        with open(path, "rb") as file:
            while record := file.read(size):
                counts[record] += 1
    return counts


def main():
    command, *rest = sys.argv[1:]
    if command == "pack":
        pack(rest[0], rest[1:])
    elif command == "show":
        show(rest[0])
    elif command == "same-multiset":
        return 0 if count_records(int(rest[0]), rest[1:2]) == count_records(int(rest[0]), rest[2:]) else 1
    else:
        sys.exit(f"unknown command {command}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

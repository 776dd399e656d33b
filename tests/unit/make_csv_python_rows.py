#!/usr/bin/env python3
"""Writes csv_python_rows.inc: random rows as Python's csv module writes and reads them. The values
of their fields are one constant, for compilers take minutes over vectors of vectors of strings: a
unit separator ends each field, a record separator each row."""

import csv
import io
import pathlib
import random

ALPHABET = ["a", "b", "7", " ", ",", "\t", ";", '"', '""', "\n", "\r\n", "'", "\u00e4", ".", "-"]


def literal(text):
    escaped = "".join(f"\\{byte:03o}" if byte < 32 or byte > 126 or byte in b'"\\?' else chr(byte)
                      for byte in text.encode())
    return f'"{escaped}"'


def main():
    rng = random.Random(4180)
    cases = []
    for number in range(300):
        separator = ",\t;"[number % 3]
        quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC][number // 3 % 3]
        rows = [["".join(rng.choices(ALPHABET, k=rng.choice([0, 1, 1, 2, 3, 8])))
                 for _ in range(rng.randint(1, 5))] for _ in range(rng.randint(1, 4))]
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=separator, quoting=quoting,
                   lineterminator=rng.choice(["\n", "\r\n"])).writerows(rows)
        read = list(csv.reader(io.StringIO(text.getvalue(), newline=""), delimiter=separator,
                               strict=True))
        assert read == rows
        values = "".join("".join(value + "\x1f" for value in row) + "\x1e" for row in read)
        cases.append(f"{{{separator!r}, {literal(text.getvalue())}, {literal(values)}}},")
    lines = ["// Made by make_csv_python_rows.py: separator, text, its fields.",
             "// clang-format off"] + cases
    path = pathlib.Path(__file__).with_name("csv_python_rows.inc")
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

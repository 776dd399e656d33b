#!/usr/bin/env python3
"""xxl sort --sum, --min and the other folds of rows: random inputs compared with decimal numbers of Python."""

import decimal
import os
import random
import re
import sys

import whole_process

RANDOM_FOLDS = int(os.environ.get("XXL_RANDOM_FOLDS", "150"))
NAMES = ("k", "n", "t", "d")  # a key, numbers, text, dates
KINDS = ("sum", "min", "max", "mean", "first", "last", "collect")


def value_of(raw):
    return raw[1:-1].replace('""', '"') if raw.startswith('"') else raw


def quoted(value, separator):
    special = any(c in value for c in (separator, '"', "\n", "\r"))
    return '"' + value.replace('"', '""') + '"' if special else value


def decimals(number):
    return max(0, -number.as_tuple().exponent)


def plain(number, places):
    text = f"{number:.{places}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def summed(numbers):
    return plain(sum(numbers), max(map(decimals, numbers)))


def mean(numbers):
    places = max(map(decimals, numbers))
    unit = decimal.Decimal(1).scaleb(-places - 6)
    text = plain((sum(numbers) / len(numbers)).quantize(unit, decimal.ROUND_HALF_EVEN), places + 6)
    for _ in range(6):
        text = text.removesuffix("0")
    return text.removesuffix(".")


def folded(kind, kind_of_value, raws, separator):
    """The field that the fields of a group become, as it is written; None if there are none that count."""
    if kind in ("first", "last"):
        return raws[0] if kind == "first" else raws[-1]
    values = [(raw, value_of(raw)) for raw in raws]
    if kind_of_value != "text":
        values = [(raw, value.strip(" \t")) for raw, value in values]
    values = [(raw, value) for raw, value in values if value]
    if not values:
        return None
    if kind == "collect":
        return quoted(";".join(quoted(value, ";") for _, value in values), separator)
    if kind in ("min", "max"):
        rank = {"text": str.encode, "date": str, "number": decimal.Decimal}[kind_of_value]
        return (min if kind == "min" else max)(values, key=lambda value: rank(value[1]))[0]
    numbers = [decimal.Decimal(value) for _, value in values]
    return quoted(summed(numbers) if kind == "sum" else mean(numbers), separator)


class RandomFolds(whole_process.FaultTest):
    def number(self, rng):
        text = rng.choice(("", " ", "0", "-0", str(rng.randrange(-9, 10)), f"{rng.randrange(10**6) / 100:.2f}",
                           f"{rng.randrange(-10**30, 10**30)}.{rng.randrange(10**9)}", f"+{rng.randrange(99)}e-{rng.randrange(9)}"))
        return rng.choice((text, text, f" {text}", f'"{text}"'))

    def text(self, rng, separator):
        text = "".join(rng.choices("aAbB;,\"\n\x01é", k=rng.choice((0, 1, 3, rng.choice((3, 300))))))
        return rng.choice((quoted(text, separator), '"' + text.replace('"', '""') + '"'))

    def row(self, rng, keys, separator):
        number = self.number(rng)
        if separator in number and not number.startswith('"'):
            number = f'"{number}"'
        return (str(rng.randrange(keys)), number, self.text(rng, separator),
                rng.choice(("", f"20{rng.randrange(10, 99)}-0{rng.randrange(1, 10)}-1{rng.randrange(10)}")))

    def folds(self, rng):
        """Kind, column, kind of value, name or None: each field has one result in its place at most."""
        replaced, folds = set(), []
        for number in range(rng.randrange(1, 8)):
            kind = rng.choice(KINDS)
            column = 1 if kind in ("sum", "mean") else rng.randrange(1, 4)
            kind_of_value = {"sum": "number", "mean": "number", "min": ("number", "text", "date")[column - 1],
                             "max": ("number", "text", "date")[column - 1]}.get(kind, "text")
            named = column in replaced or rng.random() < 0.5
            replaced.add(column)
            folds.append((kind, column, kind_of_value, f"x;{number}" if named else None))
        return folds

    def options_of(self, rng, folds, header):
        options = []
        for kind, column, kind_of_value, name in folds:
            spec = rng.choice((NAMES[column], str(column + 1))) if header else str(column + 1)
            if kind in ("min", "max") and (kind_of_value != "number" or rng.random() < 0.5):
                spec += f":{kind_of_value}"
            options.append(f"--{kind}={spec}" + (f":{name}" if name else ""))
        return options

    def expected(self, groups, folds, separator, end, count):
        rows = []
        for group in groups:
            out = list(group[0])
            for kind, column, kind_of_value, name in folds:
                field = folded(kind, kind_of_value, [row[column] for row in group], separator)
                if name is not None:
                    out.append(field or "")
                elif field is not None:
                    out[column] = field
            rows.append(separator.join(out + ([str(len(group))] if count else [])) + end)
        return rows

    def test_they_are_those_of_python(self):
        decimal.getcontext().prec = 200
        for round_number in range(RANDOM_FOLDS):
            rng = random.Random(round_number)
            separator, end = rng.choice(",;\t."), rng.choice(("\n", "\n", "\r\n"))
            header, count, reverse = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.3
            keys = rng.choice((1, 5, 1000, 10**6))
            rows = [self.row(rng, keys, separator) for _ in range(rng.choice((0, 1, 2, 50, 3000, 30_000)))]
            folds = self.folds(rng)
            groups = {}
            for row in rows:
                groups.setdefault(row[0], []).append(row)
            groups = [groups[key] for key in sorted(groups, key=int, reverse=reverse)]
            expected = self.expected(groups, folds, separator, end, count)
            first, limit = rng.choice((0, 0, 1, 100)), rng.choice((None, None, 0, 10, 5000))
            expected = expected[first:] if limit is None else expected[first:first + limit]
            names = [*NAMES, *(name for *_, name in folds if name), *(["count"] if count else [])]
            head = separator.join(quoted(name, separator) for name in names) + end if header else ""
            head_in = separator.join(NAMES) + end if header else ""

            cut = rng.randrange(len(rows) + 1)
            files = [rows[:cut], rows[cut:]]
            merge = rng.random() < 0.2
            if merge:
                files = [sorted(file, key=lambda row: int(row[0]), reverse=reverse) for file in files]
            paths = [self.root / "a", self.root / "b"]
            for path, file in zip(paths, files):
                path.write_bytes((head_in + "".join(separator.join(row) + end for row in file)).encode())
            options = [*self.options_of(rng, folds, header), "--record=csv", f"-t{separator}", "--key=1:integer",
                       *(["--header"] if header else []), *(["--count"] if count else []), *(["-r"] if reverse else []),
                       *(["-m"] if merge else []), f"--skip={first}", *([] if limit is None else [f"--limit={limit}"]),
                       f"-S{rng.choice((4, 6, 30))}M", f"--parallel={rng.choice((1, 2, 3))}",
                       *rng.choice(([], ["--temp-compress"], ["--io=threads"], ["--batch-size=3"], ["--verify"]))]
            with self.subTest(number=round_number, options=options, rows=len(rows)):
                out = self.root / "folded"
                done = self.run_xxl(*options, *paths, "-o", out)
                if done.returncode != 0 and b"--collect" in done.stderr:  # all values of a few keys
                    most = max(map(len, expected), default=0)
                    self.assert_fails(done, "are longer than .*, a sixteenth of -S: give more$")
                    self.assertGreater(most, 200_000)
                    options = [re.sub("^-S.*", "-S400M", option) for option in options]
                    done = self.run_xxl(*options, *paths, "-o", out)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(out.read_bytes().decode(), head + "".join(expected))


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))

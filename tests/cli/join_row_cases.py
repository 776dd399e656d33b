"""Cases of rows of CSV and TSV for join_differential.py, with a join in Python."""

import dataclasses
import decimal

from join_case import Case

LARGE_ROWS = 80000
CSV_TEXTS = ["a", "b", "B", "a,b", 'say "x"', "two\nlines", " a", "a ", "é", "", "", "zz", "10", "9"]
CSV_NUMBERS = ["1", "1.0", "01", "-1", "2", "10", "9.5", "9.50", "0", "-0", "", "1e1", "100", "3"]
CSV_INTEGERS = ["1", "01", "-1", "2", "10", "9", "0", "-0", "", "100", "+3", "3"]


def field_text(rng, value, separator):
    """A field as someone may write it: with quotes where it needs them, and now and then without need."""
    if rng.random() < 0.15 or any(c in value for c in f'"\n\r{separator}'):
        return '"' + value.replace('"', '""') + '"'
    return value


def value_of(raw):
    return raw[1:-1].replace('""', '"') if raw.startswith('"') else raw


@dataclasses.dataclass
class Table:
    names: list
    rows: list  # of raw fields
    keys: list  # columns, from 0


def random_table(rng, types, separator, side, large):
    width = rng.randint(len(types), len(types) + 3)
    keys = rng.sample(range(width), len(types))
    rows = []
    for _ in range(LARGE_ROWS if large else rng.choice([0, 1, 2, 4, 8, 16, 30])):
        row = []
        for column in range(width):
            kind = types[keys.index(column)] if column in keys else "text"
            pool = {"number": CSV_NUMBERS, "integer": CSV_INTEGERS}.get(kind, CSV_TEXTS)
            if large and column in keys:
                row.append(str(rng.randrange(LARGE_ROWS)))
            else:
                row.append(field_text(rng, rng.choice(pool), separator))
        rows.append(row)
    names = [rng.choice(["v", "w", "id", 'na"me', "x,y", "v"]) + (f"{side}{i}" if rng.random() < 0.5 else f"{i}")
             for i in range(width)]
    return Table([field_text(rng, name, separator) for name in names], rows, keys)


def table_text(rng, table, separator, header, line_end):
    rows = ([table.names] if header else []) + table.rows
    text = "".join(separator.join(row) + line_end for row in rows)
    if sum(row != [""] for row in rows) > 1 and rng.random() < 0.1 and rows[-1] != [""]:
        text = text[:-len(line_end)]
    return text.encode()


def order_key(values, types, descending):
    key = []
    for value, kind, down in zip(values, types, descending):
        if value == "":
            key.append((0,))
            continue
        if kind == "text":
            data = value.encode()
            key.append((1, tuple(-b for b in data) + (1,)) if down else (1, tuple(data)))
        else:
            number = decimal.Decimal(value)
            key.append((1, -number if down else number))
    return tuple(key)


def quoted(value, separator):
    return '"' + value.replace('"', '""') + '"' if any(c in value for c in f'"\n\r{separator}') else value


def joined_header(r, s, suffixes, separator):
    out = [r.names[column] for column in r.keys]
    key_names = [value_of(name) for name in out]
    for table, other, suffix in ((r, s, suffixes[0]), (s, r, suffixes[1])):
        others = [value_of(name) for i, name in enumerate(other.names) if i not in other.keys]
        for i, name in enumerate(table.names):
            if i in table.keys:
                continue
            value = value_of(name)
            taken = value in others or (table is s and value in key_names)
            out.append(quoted(value + suffix, separator) if taken else name)
    return out


def joined_rows(r, s, types, descending, how, match_empty, filler, shape):
    def keyed(table):
        rows = [(order_key([value_of(row[c]) for c in table.keys], types, descending), row) for row in table.rows]
        return sorted(rows, key=lambda pair: pair[0])
    left, right = keyed(r), keyed(s)

    def others(table, row):
        return [field for i, field in enumerate(row) if i not in table.keys]
    r_width = len(r.names) if r.rows or shape["header"] else 0
    s_width = len(s.names) if s.rows or shape["header"] else 0
    r_blank = [filler] * max(0, r_width - len(types))
    s_blank = [filler] * max(0, s_width - len(types))
    groups = {}
    for key, row in left:
        groups.setdefault(key, ([], []))[0].append(row)
    for key, row in right:
        groups.setdefault(key, ([], []))[1].append(row)
    out = []
    for key in sorted(groups):
        rs, ss = groups[key]
        matched = rs and ss and (match_empty or (0,) not in key)
        if matched:
            if how == "semi":
                out += rs
            elif how != "anti":
                out += [[a[c] for c in r.keys] + others(r, a) + others(s, b) for a in rs for b in ss]
            continue
        if how == "anti":
            out += rs
        if how in ("left", "full"):
            out += [[a[c] for c in r.keys] + others(r, a) + s_blank for a in rs]
        if how in ("right", "full"):
            out += [[b[c] for c in s.keys] + r_blank + others(s, b) for b in ss]
    return [[field if value_of(field) else filler or field for field in row] for row in out]


def in_order(table, types, descending):
    return sorted(table.rows, key=lambda row: order_key([value_of(row[c]) for c in table.keys], types, descending))


def rows_case(rng, large):
    record = rng.choice(["csv", "csv", "tsv"])
    separator = "," if record == "csv" else "\t"
    arguments = ["join", f"--record={record}"]
    if rng.random() < 0.1:
        separator = rng.choice(";|:")
        arguments += ["-t", separator]
    types = rng.choices(["text", "text", "number", "integer"], k=rng.choice([1, 1, 1, 2, 3]))
    descending = [rng.random() < 0.15 for _ in types]
    header = rng.random() < 0.6
    r = random_table(rng, types, separator, "r", large)
    s = random_table(rng, types, separator, "s", large)
    presorted = rng.choice(["", "", "", "1", "2", "both"])
    if presorted:
        arguments.append(f"--presorted={presorted}")
    for side, table in (("1", r), ("2", s)):
        if presorted in (side, "both"):
            table.rows = in_order(table, types, descending)
    line_end = "\r\n" if rng.random() < 0.1 else "\n"
    arguments.append("--header" if header else "--no-header")
    specs = ([], [])
    for side, table in ((1, r), (2, s)):
        names = [value_of(name) for name in table.names]
        for column, kind, down in zip(table.keys, types, descending):
            spec = str(column + 1)
            if header and names.count(names[column]) == 1 and rng.random() < 0.6:
                spec = '"' + names[column].replace('"', '""') + '"'
            if kind != "text" or rng.random() < 0.3:
                spec += f":{kind}"
            if down:
                spec += ":desc"
            specs[side - 1].append(spec)
    for option, keys in zip(("--left-on", "--right-on"), specs):
        if rng.random() < 0.5:
            arguments.append(f"{option}={','.join(keys)}")
        else:
            arguments += [f"{option}={key}" for key in keys]
    how = rng.choice(["inner", "left", "right", "full", "semi", "anti"])
    if how != "inner" or rng.random() < 0.3:
        arguments.append(f"--how={how}")
    match_empty = rng.random() < 0.6
    if not match_empty or rng.random() < 0.2:
        arguments.append(f"--empty-keys={'equal' if match_empty else 'never'}")
    filler = ""
    if how not in ("semi", "anti") and rng.random() < 0.3:
        filler = rng.choice(["NULL", "a b", "-"])
        arguments += ["-e", filler]
    suffixes = ("_1", "_2")
    if header and how not in ("semi", "anti") and rng.random() < 0.3:
        suffixes = rng.choice([("", ".s"), ("_left", "_right"), ('"', "x")])
        arguments.append("--suffixes=" + ",".join(suffixes))
    if large:
        arguments += ["-S", "3M"]
    elif rng.random() < 0.2:
        arguments += ["-S", "8M", "--io=threads"]
    case = Case("rows", "C", arguments + ["r", "s"])
    case.files = {"r": table_text(rng, r, separator, header, line_end),
                  "s": table_text(rng, s, separator, header, line_end)}
    if not header:  # blank lines are no rows
        for table in (r, s):
            table.rows = [row for row in table.rows if row != [""]]
    rows = joined_rows(r, s, types, descending, how, match_empty, filler, {"header": header})
    if header:
        rows.insert(0, r.names if how in ("semi", "anti") else joined_header(r, s, suffixes, separator))
    out = "".join(separator.join(row) + line_end for row in rows)
    expected = out.encode()

    def expect(_directory):
        return 0, expected, b""
    case.expect = expect
    return case

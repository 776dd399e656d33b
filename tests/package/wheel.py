"""Run in a virtual environment that has the wheel and nothing else: sorts a file and compares."""

import random
import sys

import xxl

random.seed(1)
rows = [(random.randrange(1000), i) for i in range(50_000)]
with open("in.csv", "w", encoding="ascii") as file:
    file.write("key,number\n" + "".join(f"{key},{i}\n" for key, i in rows))
report = xxl.sort_csv("in.csv", "out.csv", [("key", "number", "desc")], memory="16M")
assert report.records == len(rows), report
with open("out.csv", encoding="ascii") as file:
    got = [tuple(map(int, line.split(","))) for line in file.read().splitlines()[1:]]
assert got == sorted(rows, key=lambda row: -row[0])
print("xxl", xxl.__version__, "for Python", sys.version.split()[0])

#!/usr/bin/env python3
"""Checks that a room includes only from itself and from lower floors (docs/architecture.md), and that
within a room no two modules (a header and its source) include each other, on whatever way.

Tests and benchmarks stand outside the house and may include anything.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The rooms of each floor, lowest first.
FLOORS = (
    ("include/xxl",),
    ("src/base",),
    ("io",),
    ("src/columns/files", "src/record"),
    ("src/columns/arrow_module", "src/sort"),
    ("gpu/device", "src/run"),
    ("gpu/sort", "src/merge"),
    ("gpu/array", "gpu/join", "src/join"),
    ("gpu/cuda", "gpu/simulated", "src/engine"),
    ("gpu/probe", "src/engine/record_sort", "src/testdata"),
    ("gpu/find", "src/engine/text_sort"),
    ("src/engine/join",),
    ("src/engine/cluster", "src/engine/files"),
    ("mpi", "src/engine/callers"),
    ("src/columns",),
    ("tools/cli",),
    ("tools/report",),
    ("tools/sort", "tools/probe", "tools/testdata"),
    ("tools/join", "tools/shuf", "tools/set"),
    ("tools", "tools/mpi"),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def room_of(path):
    """The innermost room that `path` lies in, or None."""
    relative = path.relative_to(ROOT).parent.as_posix()
    return max((room for room in FLOOR_OF if f"{relative}/".startswith(f"{room}/")), key=len,
               default=None)


def resolve(include, source):
    """The file that an include names: beside the source, or below the include paths."""
    for base in (source.parent, ROOT / "src", ROOT / "tools", ROOT / "include", ROOT):
        path = (base / include).resolve()
        # A header made by CMake stands for its template.
        if path.exists() or path.with_name(path.name + ".in").exists():
            return path
    return None


def module_of(path):
    return path.with_suffix("")


def check_file(source, arrows):
    """Problems of one file; adds its arrows to other modules of its room."""
    room = room_of(source)
    problems = []
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        place = f"{source.relative_to(ROOT)}:{number}"
        target = resolve(match.group(1), source)
        target_room = room_of(target) if target and target.is_relative_to(ROOT) else None
        if target_room is None:
            problems.append(f'{place}: "{match.group(1)}" is in no room of the house')
        elif target_room != room and FLOOR_OF[target_room] >= FLOOR_OF[room]:
            problems.append(f"{place}: {room} (floor {FLOOR_OF[room]}) includes from "
                            f"{target_room} (floor {FLOOR_OF[target_room]})")
        elif target_room == room and module_of(target) != module_of(source):
            arrows.setdefault(module_of(source), set()).add(module_of(target))
    return problems


def find_circles(arrows):
    """One line for each module that can be reached from itself."""
    circles = []
    for start in sorted(arrows):
        reached, pending = set(), [start]
        while pending:
            for module in arrows.get(pending.pop(), ()):
                if module not in reached:
                    reached.add(module)
                    pending.append(module)
        if start in reached:
            circles.append(f"{start.relative_to(ROOT)}: includes itself by way of others of its room")
    return circles


def main():
    sources = [path for room in ("include", "src", "io", "gpu", "mpi", "tools")
               for path in sorted((ROOT / room).rglob("*"))
               if path.suffix in (".h", ".cc", ".cu", ".cuh")]
    arrows = {}
    problems = [problem for source in sources for problem in check_file(source, arrows)]
    problems += find_circles(arrows)
    print("\n".join(problems + [f"{len(sources)} files, {len(problems)} upward includes"]))
    return 1 if problems or not sources else 0


if __name__ == "__main__":
    sys.exit(main())

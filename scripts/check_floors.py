#!/usr/bin/env python3
"""Checks that a folder includes only from itself and from lower floors (docs/architecture.md).

Tests and benchmarks stand outside the house and may include anything.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLOORS = {
    "src/base": 0,
    "io": 1,
    "src/record": 2,
    "src/sort": 3,
    "gpu": 4,
    "src/run": 4,
    "src/merge": 5,
    "src/join": 6,
    "src/pipeline": 7,
    "tools": 8,
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def folder_of(path):
    """The folder of FLOORS that `path` lies in, or None."""
    relative = path.relative_to(ROOT).as_posix()
    return next((folder for folder in FLOORS if relative.startswith(folder + "/")), None)


def resolve(include, source):
    """The file that an include names: beside the source, or below the two include paths."""
    for base in (source.parent, ROOT / "src", ROOT):
        path = (base / include).resolve()
        # A header made by CMake stands for its template.
        if path.exists() or path.with_name(path.name + ".in").exists():
            return path
    return None


def check_file(source):
    folder = folder_of(source)
    problems = []
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        place = f"{source.relative_to(ROOT)}:{number}"
        target = resolve(match.group(1), source)
        target_folder = folder_of(target) if target and target.is_relative_to(ROOT) else None
        if target_folder is None:
            problems.append(f'{place}: "{match.group(1)}" is in no folder of the house')
        elif target_folder != folder and FLOORS[target_folder] >= FLOORS[folder]:
            problems.append(f"{place}: {folder} (floor {FLOORS[folder]}) includes from "
                            f"{target_folder} (floor {FLOORS[target_folder]})")
    return problems


def main():
    sources = [path for folder in FLOORS for path in sorted((ROOT / folder).rglob("*"))
               if path.suffix in (".h", ".cc", ".cu", ".cuh")]
    problems = [problem for source in sources for problem in check_file(source)]
    print("\n".join(problems + [f"{len(sources)} files, {len(problems)} upward includes"]))
    return 1 if problems or not sources else 0


if __name__ == "__main__":
    sys.exit(main())

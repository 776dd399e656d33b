#!/usr/bin/env python3
"""Checks the layers of the sources (docs/internals/architecture.md): a module includes only from itself and from
lower layers; within a module no two units (a header and its source) include each other, in whatever way;
and no module has more lines than its budget.

A budget goes down with the code: `check_layers.py --budgets` prints what it could be. It goes up only with
a line in CHANGELOG.md that says what for. Tests and benchmarks may include anything.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The modules of each layer with their budgets of lines, lowest layer first. Those of one layer do not
# know each other.
LAYERS = (
    {"include/xxl": 7183},
    {"src/base": 2697},
    {"io": 6515},
    {"src/columns/files": 830, "src/record": 10372},
    {"src/columns/arrow_module": 4590, "src/sort": 3280},
    {"gpu/device": 1370, "src/run": 3785},
    {"gpu/sort": 2850, "src/merge": 3830},
    {"gpu/array": 1130, "gpu/join": 1890, "src/join": 4080},
    {"gpu/cuda": 1730, "gpu/simulated": 440, "src/job": 3224},
    {"gpu/probe": 690, "src/job/fixed_sort": 2583, "src/testdata": 1300},
    {"gpu/find": 190, "src/job/general_sort": 5995},
    {"src/job/join": 3830},
    {"src/cluster": 2810, "src/job/files": 1600},
    {"mpi": 560, "src/callers": 2481},
    {"src/columns": 4830},
    {"tools/cli": 2885},
    {"tools/report": 3535},
    {"tools/sort": 3085, "tools/probe": 490, "tools/testdata": 180},
    {"tools/join": 1400, "tools/shuf": 200},
    {"tools": 205, "tools/mpi": 820},
)
LAYER_OF = {module: layer for layer, modules in enumerate(LAYERS) for module in modules}
BUDGET_OF = {module: budget for modules in LAYERS for module, budget in modules.items()}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def module_of(path):
    """The innermost module that `path` lies in, or None."""
    relative = path.relative_to(ROOT).parent.as_posix()
    return max((module for module in LAYER_OF if f"{relative}/".startswith(f"{module}/")), key=len,
               default=None)


def resolve(include, source):
    """The file that an include names: beside the source, or below the include paths."""
    for base in (source.parent, ROOT / "src", ROOT / "tools", ROOT / "include", ROOT):
        path = (base / include).resolve()
        # A header made by CMake stands for its template.
        if path.exists() or path.with_name(path.name + ".in").exists():
            return path
    return None


def check_file(source, arrows):
    """Problems of one file; adds its arrows to other units of its module."""
    module = module_of(source)
    problems = []
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        place = f"{source.relative_to(ROOT)}:{number}"
        target = resolve(match.group(1), source)
        target_module = module_of(target) if target and target.is_relative_to(ROOT) else None
        if target_module is None:
            problems.append(f'{place}: "{match.group(1)}" is in no module')
        elif target_module != module and LAYER_OF[target_module] >= LAYER_OF[module]:
            problems.append(f"{place}: {module} includes from {target_module}, which is not below it")
        elif target_module == module and target.with_suffix("") != source.with_suffix(""):
            arrows.setdefault(source.with_suffix(""), set()).add(target.with_suffix(""))
    return problems


def find_circles(arrows):
    """One line for each unit that can be reached from itself."""
    circles = []
    for start in sorted(arrows):
        reached, pending = set(), [start]
        while pending:
            for unit in arrows.get(pending.pop(), ()):
                if unit not in reached:
                    reached.add(unit)
                    pending.append(unit)
        if start in reached:
            circles.append(f"{start.relative_to(ROOT)}: includes itself by way of others of its module")
    return circles


def check_budgets(sources, lines):
    """Counts `lines` of modules; one line for each that has more than it may."""
    for source in sources:
        module = module_of(source)
        lines[module] = lines.get(module, 0) + source.read_text().count("\n")
    return [f"{module}: {count} lines, {count - BUDGET_OF[module]} more than its budget: make it smaller, "
            "or raise the budget in scripts/check_layers.py and say in CHANGELOG.md what for"
            for module, count in sorted(lines.items()) if count > BUDGET_OF[module]]


def main():
    sources = [path for folder in ("include", "src", "io", "gpu", "mpi", "tools")
               for path in sorted((ROOT / folder).rglob("*"))
               if path.suffix in (".h", ".cc", ".cu", ".cuh")]
    arrows, lines = {}, {}
    problems = [problem for source in sources for problem in check_file(source, arrows)]
    problems += find_circles(arrows)
    problems += check_budgets(sources, lines)
    if "--budgets" in sys.argv:
        print("\n".join(f"{module}: {count} of {BUDGET_OF[module]}" for module, count in sorted(lines.items())))
    print("\n".join(problems + [f"{len(sources)} files, {sum(lines.values())} lines, {len(problems)} problems"]))
    return 1 if problems or not sources else 0


if __name__ == "__main__":
    sys.exit(main())

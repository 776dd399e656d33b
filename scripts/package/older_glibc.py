#!/usr/bin/env python3
"""Makes a folder that lets the compiler link programs for an older glibc than that of this machine.

    scripts/package/older_glibc.py 2.28 build-package/glibc
    g++ -Bbuild-package/glibc -static-libstdc++ -static-libgcc ...    # links a program or a library

glibc keeps every version of a function for the programs that were linked with it. So what it had in
2.28 is what carries a version up to 2.28 today. The folder has libraries of these symbols and no code,
which the linker reads in the place of the real ones; the few newer functions that GCC and its headers
use are in older_glibc.c. Anything else that is newer is an error of the linker.
"""

import pathlib
import platform
import re
import subprocess
import sys

# With the names that programs ask for. Before 2.34 functions were in the others that are in libc.so.6
# today; a program finds them there if it loads them.
LOADER = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}[platform.machine()]
LIBRARIES = ("libc.so.6", "libm.so.6", LOADER)
FORMER = ("libpthread.so.0", "libdl.so.2", "librt.so.1")

SYMBOL = re.compile(
    r"^[0-9a-f]+ (?P<flags>.{7}) (?P<section>\S+)\s+(?P<size>[0-9a-f]+)\s+\(?(?P<version>GLIBC_[0-9.]+)\)?\s+(?P<name>\S+)$"
)


def run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("GLIBC_").split("."))


def path_of(name: str) -> str:
    """The path of a file that the compiler links with."""
    path = run("gcc", f"-print-file-name={name}").strip()
    if "/" not in path:
        sys.exit(f"{name} not found: scripts/install_packages.sh")
    return path


def symbols(library: str, newest: tuple[int, ...]) -> dict[str, re.Match[str]]:
    """Each symbol at the last version that is not newer than `newest`."""
    found: dict[str, re.Match[str]] = {}
    for line in run("objdump", "-T", path_of(library)).splitlines():
        symbol = SYMBOL.match(line)
        if not symbol or symbol["section"] in ("*UND*", "*ABS*", ".tbss", ".tdata"):
            continue
        version = number(symbol["version"])
        before = found.get(symbol["name"])
        if version <= newest and (not before or number(before["version"]) < version):
            found[symbol["name"]] = symbol
    return found


def make_library(folder: pathlib.Path, name: str, found: dict[str, re.Match[str]]) -> None:
    """The shared library `name` with these symbols."""
    code, data, names = [".text"], [".bss"], {}
    for symbol in found.values():
        names.setdefault(symbol["version"], []).append(symbol["name"])
        if symbol["flags"][6] == "O":
            size = int(symbol["size"], 16)
            data.append(f".balign 32\n.globl {symbol['name']}\n.type {symbol['name']}, %object\n"
                        f".size {symbol['name']}, {size}\n{symbol['name']}: .zero {size}")
        else:
            code.append(f".globl {symbol['name']}\n.type {symbol['name']}, %function\n{symbol['name']}:")
    source, versions = folder / f"{name}.s", folder / f"{name}.map"
    source.write_text("\n".join(code + data + ['.section .note.GNU-stack,"",%progbits', ""]))
    versions.write_text("".join(f"{version} {{ global: {'; '.join(sorted(of))}; }};\n"
                                for version, of in sorted(names.items())))
    script = [f"-Wl,--version-script,{versions}"] if names else []
    run("gcc", "-shared", "-nostdlib", f"-Wl,-soname,{name}", *script, "-o", str(folder / name), str(source))


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    newest, folder = number(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name in LIBRARIES:
        make_library(folder, name, symbols(name, newest))
    for name in FORMER:
        make_library(folder, name, {})

    (folder / "libnewer.a").unlink(missing_ok=True)
    for name in ("older_glibc", "older_start"):
        run("gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-c",
            str(pathlib.Path(__file__).with_name(f"{name}.c")), "-o", str(folder / f"{name}.o"))
        run("ar", "rcs", str(folder / "libnewer.a"), str(folder / f"{name}.o"))
    for name in ("Scrt1.o", "crt1.o"):
        run("objcopy", "--redefine-sym", "__libc_start_main=start_for_older_glibc", path_of(name),
            str(folder / name))

    # What -lc and -lm find; the rest of glibc is in libc.so.
    former = " ".join(str(folder / name) for name in FORMER)
    (folder / "libc.so").write_text(
        f"GROUP({folder}/libnewer.a {folder}/libc.so.6 {path_of('libc_nonshared.a')} {former} "
        f"AS_NEEDED({folder}/{LOADER}))\n")
    (folder / "libm.so").write_text(f"INPUT({folder}/libm.so.6)\n")


if __name__ == "__main__":
    main()

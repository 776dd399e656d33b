"""A case of join_differential.py, and how a program is run with it."""

import dataclasses
import os
import subprocess

TIMEOUT_SECONDS = 120
LARGE_INPUT_BYTES = 10 << 20  # more than the memory that large cases get: goes through scratch space
LARGE_MEMORY = "4M"


@dataclasses.dataclass
class Case:
    kind: str
    locale: str = "C"
    arguments: list = None  # of the program tested, texts
    files: dict = dataclasses.field(default_factory=dict)  # name: content
    stdin: bytes = b""
    expect: object = None  # makes what is expected: (status, standard output, standard error)


def run(program, name, case, arguments, directory):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": case.locale, "TMPDIR": str(directory)}
    return subprocess.run([name, *arguments], executable=program, cwd=directory, env=environment, input=case.stdin,
                          capture_output=True, timeout=TIMEOUT_SECONDS, check=False)


def outcome(done):
    return done.returncode, done.stdout, done.stderr

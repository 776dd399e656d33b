"""Jobs for the real program on real file systems: what they read, what they are to write, and the
check of what a run that ended in any way has left.

A job runs in a directory of its own, a *place*, with the folders `in`, `out`, `s1` and `s2` (scratch).
What it is to write is known from a run that nothing disturbed.
"""

import contextlib
import copy
import dataclasses
import hashlib
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import whole_process  # noqa: E402
from whole_process import PATIENCE_SECONDS  # noqa: E402

OLD = b"old content\n"
ABSENT = "absent"
HELPER_SECONDS = 10  # for helpers to notice that the program is gone
FOLDERS = ("in", "out", "s1", "s2")
# What a run that is killed may leave beside its output (docs/internals/architecture.md, Atomic output).
TEMP_NAME = re.compile(r"\.xxl-\d+-[0-9a-f]{16}\.tmp")


@dataclasses.dataclass(frozen=True)
class Job:
    name: str
    command: str  # words, without program and output
    output: str = "out/file"
    old: str = ""  # the input that is there as the output at first, if any
    stdin: str = ""  # the input that comes through a pipe
    deals: str = "S T io parallel temp verify"  # which options a case may add
    content: str = ""  # what is the same in each run: what a program decompresses, or records in order

    def inputs(self):
        words = set(re.findall(r"in/[\w.]+", self.command))
        return sorted(words | {name for name in (self.old, self.stdin) if name})


PROMISES_OF_OUTPUT = {
    ("old",): "a failure leaves the old output as it was",
    ("old", "new"): "an output is the old or the new one, whole",
    ("new",): "after exit 0 the output is there",
}
# What a case may add to a command: none of it changes the output.
DEALS = {
    "S": ("-S4M", "-S4M", "-S6M", "-S1G"),
    "T": ("-T s1", "-T s1", "-T s1 -T s2"),
    "io": ("", "--io=threads", "--io=io_uring"),
    "parallel": ("", "", "--parallel=1", "--parallel=4"),
    "verify": ("", "", "--verify"),
    "temp": ("", "", "--temp-compress", "--temp-compress=zstd"),
}
JOIN = "T io parallel verify"

JOBS = (
    Job("lines", "sort in/lines"),
    Job("lines unique", "sort -u in/few"),
    Job("lines counted", "sort --count in/few"),
    Job("lines merged", "sort -m in/sorted in/sorted2", deals="S T io parallel verify"),
    Job("lines onto their input", "sort out/file", old="in/lines"),
    Job("lines merged onto their input", "sort -m out/file in/sorted2", old="in/sorted", deals="S T io parallel verify"),
    Job("lines from a pipe", "sort -n -k2 -", stdin="in/lines"),
    Job("lines from a compressed file", "sort in/lines.zst"),
    Job("lines to a compressed file", "sort in/lines", output="out/file.zst", content="zstd"),
    Job("lines to gzip", "sort in/few", output="out/file.gz", content="gzip"),
    Job("lines with a program for scratch", "sort --compress-program=gzip in/few", deals="S T io parallel verify"),
    Job("lines in parts", "sort --parts=5 in/lines", output="out/parts"),
    Job("lines in parts of a size", "sort --part-bytes=1M in/lines", output="out/parts"),
    Job("rows", "sort --record=csv --header --key=b:number in/rows.csv"),
    Job("rows folded", "sort --record=csv --header --key=a --sum=b in/rows.csv"),
    Job("rows onto their input", "sort --record=csv --header --key=b:number out/file", old="in/rows.csv"),
    Job("rows in parts", "sort --record=csv --header --key=a --part-by=a in/rows.csv", output="out/parts"),
    Job("gensort records", "sort --record=gensort in/gensort"),
    Job("gensort records in parts", "sort --record=gensort --parts=3 in/gensort", output="out/parts"),
    Job("numbers", "sort --record=u64 in/u64"),
    Job("numbers unique", "sort --record=u64 -u in/u64"),
    Job("numbers onto their input", "sort --record=u64 out/file", old="in/u64"),
    Job("numbers from a pipe", "sort --record=u64 -", stdin="in/u64"),
    Job("lines joined", "join --record=lines --key=1 in/lines in/few", deals=f"S {JOIN}"),
    Job("rows joined", "join --record=csv --header --key=a in/small.csv in/rows.csv", deals=f"S {JOIN}"),
    Job("numbers joined by sorting", "join --record=u64 --method=sort-merge in/u64 in/u64b", deals=f"S {JOIN}"),
    Job("numbers joined by hashing", "join --record=u64 --method=hash -S16M in/u64 in/u64b", deals=JOIN,
        content="u64"),
    Job("lines joined onto an input", "join --record=lines --key=1 out/file in/few", old="in/lines", deals=f"S {JOIN}"),
    Job("lines shuffled", "shuf --seed=7 in/lines", deals="S T io verify"),
    Job("first lines of each key", "sort -u -k2,2 --keep-order in/lines", deals="S T io verify"),
    Job("union", "union in/sorted in/few", deals="S T io verify"),
    Job("except onto its input", "except out/file in/few", old="in/lines", deals="S T io verify"),
)


def make_inputs(directory, mebibytes):
    """All inputs of the jobs, of about that size each."""
    dealt = random.Random(1)
    number = mebibytes * 100_000 // 10 * 10
    program = whole_process.XXL

    def write(name, content):
        (directory / name).write_bytes(content)

    def lines(count, keys):
        return b"".join(b"%d k%06d\n" % (dealt.randrange(keys), dealt.randrange(10**6)) for _ in range(count))

    write("lines", lines(number // 2, 10**6))
    write("few", lines(number // 2, 3000))
    for name, source in (("sorted", "lines"), ("sorted2", "few")):
        write(name, b"".join(sorted((directory / source).read_bytes().splitlines(keepends=True))))
    rows = b"".join(b'%d,%d,"some, text"\n' % (dealt.randrange(40), dealt.randrange(10**9)) for _ in range(number // 3))
    write("rows.csv", b"a,b,c\n" + rows)
    write("small.csv", b"a,d\n" + b"".join(b"%d,x%d\n" % (i, i) for i in range(0, 40, 3)))
    for name, record, start, count in (("u64", "u64", 0, number), ("u64b", "u64", number // 2, number),
                                       ("gensort", "gensort", 0, number // 12)):
        subprocess.run([program, "gen", f"--record={record}", f"--start={start}", str(count), "-o", directory / name],
                       check=True)
    subprocess.run(["zstd", "-q", "-k", "lines"], cwd=directory, check=True)


def digest(path, content=""):
    """Of a file, or of a directory with all that is in it: a line for each."""
    if path.is_dir():
        return "\n".join(f"{inner.name} {digest(inner)}" for inner in sorted(path.iterdir()))
    try:
        what = path.read_bytes()
    except FileNotFoundError:
        return ABSENT
    if content == "u64":
        what = b"".join(sorted(what[at:at + 8] for at in range(0, len(what), 8)))
    elif content:
        done = subprocess.run([content, "-dc"], input=what, capture_output=True, check=False)
        what = done.stdout + done.stderr
    return hashlib.sha1(what).hexdigest()


class Place:
    """A directory that a job runs in: it starts with the inputs and, mostly, an old output."""

    def __init__(self, path, job, inputs, has_old=True):
        self.path = path
        self.job = job
        self.output = path / job.output
        for folder in FOLDERS:
            (path / folder).mkdir(parents=True, exist_ok=True)
        for name in job.inputs():
            shutil.copyfile(inputs / name[3:], path / name)
        if job.old:
            shutil.move(path / job.old, self.output)
        elif has_old and self.is_directory():
            self.make_old_parts()
        elif has_old:
            self.output.write_bytes(OLD)
        if self.output.exists():
            self.output.chmod(self.mode())
        self.old = digest(self.output)
        self.inputs = self.digests_of_inputs()

    def is_directory(self):
        return self.job.output.endswith("parts")

    def at(self, path):
        """What another directory holds of this place."""
        other = copy.copy(self)
        other.path, other.output = path, path / self.job.output
        return other

    def mode(self):
        return 0o750 if self.is_directory() else 0o640

    def make_old_parts(self):
        subprocess.run([whole_process.XXL, "sort", "--parts=2", "-o", self.output], input=b"b\na\nc\nd\n", check=True)

    def volume(self):
        """About the bytes that the job reads and writes, scratch too."""
        return 4 * sum(path.stat().st_size for path in self.path.rglob("*"))

    def digests_of_inputs(self):
        return {path.name: digest(path) for path in sorted((self.path / "in").iterdir())}

    def command(self, options=()):
        words = shlex.split(self.job.command)
        flag = "--output" if words[0] == "join" else "-o"
        return [whole_process.XXL, *words, *options, flag, self.job.output]

    @contextlib.contextmanager
    def started(self, options=(), prefix=(), command=None, **popen):
        """The running program. All that it started is a child of this process once it is gone, if
        this is a subreaper."""
        source = None
        if self.job.stdin:
            source = subprocess.Popen(["cat", self.path / self.job.stdin], stdout=subprocess.PIPE)
        process = subprocess.Popen(
            command or [*prefix, *self.command(options)], cwd=self.path, start_new_session=True, stderr=subprocess.PIPE,
            stdin=source.stdout if source else subprocess.DEVNULL, stdout=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C", "TMPDIR": str(self.path / "s1")}, **popen)
        if source:
            source.stdout.close()
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
            if source:
                source.wait()

    def run(self, options=(), prefix=(), command=None, **popen):
        """(exit status, what it said)"""
        with self.started(options, prefix, command, **popen) as process:
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, said.decode(errors="replace")

    def new(self):
        """What it has written, to compare later runs with."""
        return digest(self.output, self.job.content)

    def found(self, new):
        """Whether the output is `old`, `new`, or what else."""
        if digest(self.output) == self.old:
            return "old"
        if self.new() == new:
            return "new"
        return f"neither: {self.output.stat().st_size if self.output.exists() else 'no'} bytes"

    def check(self, new, allowed=("old", "new"), may_leave_names=False):
        """Promises about the files here: of each, whether it is kept, and what was found."""
        found = self.found(new)
        yield PROMISES_OF_OUTPUT[allowed], found in allowed, found
        if found == "new" and self.old != ABSENT:
            mode = self.output.stat().st_mode & 0o777
            yield "an output that replaces another has its mode", mode == self.mode(), oct(mode)
        inputs = self.digests_of_inputs()
        yield "inputs are untouched", inputs == self.inputs, inputs
        known = [self.output.name, *(self.temp_names() if may_leave_names else [])]
        left = [path for path in (self.path / "out").iterdir() if path.name not in known]
        left += [path for folder in ("s1", "s2") for path in (self.path / folder).iterdir()]
        yield "nothing is left behind", not left, left

    def temp_names(self):
        return [path.name for path in (self.path / "out").iterdir() if TEMP_NAME.fullmatch(path.name)]


def deal_options(dealt, job):
    return [word for kind in job.deals.split() for word in dealt.choice(DEALS[kind]).split()]


def wait_for_helpers():
    """Reaps what the program had started; the numbers of processes that do not end."""
    end = time.monotonic() + HELPER_SECONDS
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.001)
        except ChildProcessError:
            return []
    children = children_of("self")
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return children


def children_of(process):
    children = []
    with contextlib.suppress(OSError):  # it has ended
        for task in pathlib.Path(f"/proc/{process}/task").iterdir():
            children += [int(child) for child in (task / "children").read_text().split()]
    return children

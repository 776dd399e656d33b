"""A disk that remembers in which order it was written to, so that it can be shown as a power cut at
any moment could have left it.

    file system  ->  loop device  ->  one file of a FUSE file system  ->  this process  ->  image, log

The kernel writes to the file as to a disk with a write cache: what was written before a flush (an
fsync of the file) has arrived for good; of what was written since, each sector may have arrived or not.
The disk can also be slow, and fail.
"""

import bisect
import contextlib
import dataclasses
import errno
import mmap
import os
import pathlib
import struct
import subprocess
import time
from multiprocessing.sharedctypes import RawArray

SECTOR = 4096  # which a disk writes as a whole
MIB = 1 << 20
MOST_PAGES = 256  # of a request
NEVER = 1 << 62

# linux/fuse.h
IN_HEADER = struct.Struct("<IIQQIIIHH")
OUT_HEADER = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<6Q10I")
INIT_OUT = struct.Struct("<IIIIHHIIHHII24x")
TRANSFER = struct.Struct("<QQIIQII")  # of a read or a write
FORGET, GETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, INIT, INTERRUPT, DESTROY, BATCH_FORGET = (
    2, 3, 14, 15, 16, 17, 18, 20, 26, 36, 38, 42)
BIG_WRITES, MAX_PAGES = 1 << 5, 1 << 22
FOPEN_DIRECT_IO = 1

LOG_ENTRY = struct.Struct("<QQ")  # offset and bytes of a write, which follow; all ones: a flush
FLUSH = (1 << 64) - 1

# What a disk is told while it runs.
LATENCY_US, READS_UNTIL_ERROR, WRITES_UNTIL_ERROR = range(3)


class Server:
    """Answers the kernel's requests for one file, the root of its file system."""

    def __init__(self, fuse, image, log, orders):
        self.fuse = fuse
        self.log = log
        self.orders = orders
        self.size = os.fstat(image).st_size
        self.bytes = mmap.mmap(image, self.size)
        self.answers = {INIT: self.init, GETATTR: self.attributes, OPEN: self.open, READ: self.read,
                        WRITE: self.write, FSYNC: self.flush, STATFS: lambda _: bytes(80),
                        RELEASE: lambda _: b"", DESTROY: lambda _: b""}

    def serve(self):
        while True:
            try:
                request = os.read(self.fuse, MIB + 4096 * 2)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return  # it was unmounted
            _, operation, number, *_ = IN_HEADER.unpack_from(request)
            if operation in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            try:
                answer, error = self.answers[operation](memoryview(request)[IN_HEADER.size:]), 0
            except KeyError:
                answer, error = b"", errno.ENOSYS
            except OSError as failure:
                answer, error = b"", failure.errno
            with contextlib.suppress(OSError):  # nobody waits for it any more
                os.writev(self.fuse, [OUT_HEADER.pack(OUT_HEADER.size + len(answer), -error, number), answer])

    def init(self, _):
        return INIT_OUT.pack(7, 31, MIB, BIG_WRITES | MAX_PAGES, 64, 48, MIB, 1, MOST_PAGES, 0, 0, 0)

    def attributes(self, _):
        return struct.pack("<QII", 3600, 0, 0) + ATTRIBUTES.pack(
            1, self.size, self.size // 512, 0, 0, 0, 0, 0, 0, 0o100600, 1, 0, 0, 0, 4096, 0)

    def open(self, _):
        return struct.pack("<QIi", 0, FOPEN_DIRECT_IO, 0)

    def take_time(self, order):
        if self.orders[LATENCY_US]:
            time.sleep(self.orders[LATENCY_US] / 1e6)
        self.orders[order] -= 1
        if self.orders[order] < 0:
            raise OSError(errno.EIO, "as ordered")

    def read(self, request):
        self.take_time(READS_UNTIL_ERROR)
        _, offset, size, *_ = TRANSFER.unpack_from(request)
        return self.bytes[offset:offset + size]

    def write(self, request):
        self.take_time(WRITES_UNTIL_ERROR)
        _, offset, size, *_ = TRANSFER.unpack_from(request)
        content = request[TRANSFER.size:TRANSFER.size + size]
        self.bytes[offset:offset + size] = content
        os.writev(self.log, [LOG_ENTRY.pack(offset, size), content])
        return struct.pack("<II", size, 0)

    def flush(self, _):
        os.write(self.log, LOG_ENTRY.pack(FLUSH, 0))
        return b""


# Kinds of file systems: how they are made, and ways to mount them.
FILE_SYSTEMS = {
    "ext4": (64, "mkfs.ext4 -q", ("defaults", "data=writeback,noauto_da_alloc", "data=journal")),
    "xfs": (64, "mkfs.xfs -q --unsupported", ("defaults",)),  # unsupported: so small
    "btrfs": (128, "mkfs.btrfs -q -m single", ("defaults", "compress-force=zstd")),
}


def make_image(path, kind):
    mebibytes, make, _ = FILE_SYSTEMS[kind]
    with open(path, "wb") as file:
        file.truncate(mebibytes * MIB)
    subprocess.run([*make.split(), path], check=True, capture_output=True)


@dataclasses.dataclass
class Disk:
    device: str  # that file systems are mounted from
    log: pathlib.Path
    orders: object  # LATENCY_US and so on; may be changed at any time
    server: int  # a process

    def now(self):
        """This moment, as a size of the log."""
        return self.log.stat().st_size


@contextlib.contextmanager
def recorded_disk(directory, image):
    """A disk with the content of the image, which is changed. Files in `directory` serve it."""
    file, log = directory / "disk", directory / "log"
    file.touch()
    log.touch()
    orders = RawArray("q", [0, NEVER, NEVER])
    with contextlib.ExitStack() as stack:
        fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        with contextlib.closing(os.fdopen(fuse, "rb", buffering=0)):
            options = f"fd={fuse},rootmode=100600,user_id=0,group_id=0,max_read={MIB}"
            subprocess.run(["mount", "-i", "-t", "fuse", "-o", options, "disk", file], check=True, pass_fds=[fuse])
            server = os.fork()
            if server == 0:
                serve(fuse, image, log, orders)
        stack.callback(os.waitpid, server, 0)
        stack.callback(subprocess.run, ["umount", "--lazy", file], check=True)  # losetup may hold it still
        device = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", file], check=True,
                                stdout=subprocess.PIPE, text=True).stdout.strip()
        stack.callback(subprocess.run, ["losetup", "--detach", device], check=True)
        yield Disk(device, log, orders, server)


def serve(fuse, image, log, orders):
    try:
        Server(fuse, os.open(image, os.O_RDWR), os.open(log, os.O_WRONLY | os.O_APPEND), orders).serve()
    finally:
        os._exit(0)


class Recording:
    """What was written to a disk, in order: its content after a power cut at any moment."""

    def __init__(self, before, log):
        self.content = mmap.mmap(-1, len(before))  # durable at entry `self.done`
        self.content[:] = before
        self.log = log
        self.entries = []  # (offset, where its content is in the log, bytes)
        self.ends = []  # of each entry, as a size of the log
        self.done = 0
        at = 0
        while at + LOG_ENTRY.size <= len(log):
            offset, size = LOG_ENTRY.unpack_from(log, at)
            at += LOG_ENTRY.size
            self.entries.append((offset, at, size))
            at += size
            self.ends.append(at)

    def entries_until(self, moment):
        return bisect.bisect_right(self.ends, moment)

    def cut(self, count, dealt, path):
        """Writes into the file the disk after `count` entries, no fewer than before, of which some
        sectors since the last flush may be missing. Says in words which."""
        durable = max((i + 1 for i in range(self.done, count) if self.entries[i][0] == FLUSH), default=self.done)
        for entry in self.entries[self.done:durable]:
            self.apply(self.content, entry, lambda: True)
        self.done = durable
        lost = dealt.choice((0, 1, 0.02, 0.5, 0.9))
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), len(self.content)) as image:
            image[:] = self.content
            for entry in self.entries[durable:count]:
                self.apply(image, entry, lambda: dealt.random() >= lost)
        return f"after {count} of {len(self.entries)} writes, of the last {count - durable} a part of {lost} lost"

    def apply(self, image, entry, arrives):
        offset, at, size = entry
        if offset == FLUSH:
            return
        done = 0
        while done < size:
            part = min(SECTOR - (offset + done) % SECTOR, size - done)
            if arrives():
                image[offset + done:offset + done + part] = self.log[at + done:at + done + part]
            done += part

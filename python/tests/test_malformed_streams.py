"""Streams that are not what they say are refused, or their rows are given: nothing crashes.

--fuzz-count says how many there are (malformed_streams.py). One process tries many; what it was at
when it ended is the last line of its standard error.
"""

import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).with_name("malformed_streams.py")
AT_ONCE = 200


def test_malformed_streams_are_errors_and_never_crash(request):
    count = request.config.getoption("--fuzz-count")
    refused = 0
    for first in range(0, count, AT_ONCE):
        done = subprocess.run(
            [sys.executable, SCRIPT, str(first), str(min(AT_ONCE, count - first))],
            capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
        refused += int(done.stdout.split()[1])
    assert refused > count // 4

"""Inputs that `xxl gen` makes."""

import subprocess


def make_input(xxl, kind, records, path):
    """Makes `path`, of gensort records or of lines of 100 bytes; returns the checksum of the records, None of lines."""
    what = ["--ascii"] if kind == "lines" else ["--record=gensort"]
    done = subprocess.run([xxl, "gen", *what, "--checksum", records, "-o", path], check=True, stderr=subprocess.PIPE,
                          text=True)
    return done.stderr.split()[-1] if kind == "gensort" else None

#!/usr/bin/env python3
"""Sums the results of test runs: sum_results.py [--failed-checks=N] JUNIT_FILE...

Prints "N passed, N failed" and fails when anything did. Before that come the failures themselves,
shortened: of a long log one often sees the end alone. A file that is missing, unreadable or
without tests counts as one failure: a run that broke down must not look like one that passed.
"""

import argparse
import sys
import xml.etree.ElementTree


MAX_SHOWN_FAILURES = 20
MAX_SHOWN_CHARACTERS = 1500


def print_failures(suite):
    failed = [(case, failure) for case in suite.iter("testcase")
              for failure in (case.find("failure"), case.find("error")) if failure is not None]
    for case, failure in failed[:MAX_SHOWN_FAILURES]:
        # CTest puts what a test printed beside its failure.
        text = "\n".join(filter(None, [failure.get("message"), failure.text, case.findtext("system-out")]))
        print(f"FAILED {case.get('name')}: {text.strip()[-MAX_SHOWN_CHARACTERS:]}")


def count(path):
    """(passed, failed, skipped) of one file."""
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"{path}: no results: {error}")
        return 0, 1, 0
    # Some programs write suites of suites, and count only in the inner ones.
    suites = root.findall("testsuite") if root.tag == "testsuites" else [root]

    def total(*names):
        return sum(int(suite.get(name, "0")) for suite in suites for name in names)

    tests, failed = total("tests"), total("failures", "errors")
    skipped = total("skipped", "disabled")
    if tests == 0:
        print(f"{path}: no tests")
        return 0, 1, 0
    print(f"{path}: {tests - failed - skipped} passed, {failed} failed, {skipped} skipped")
    print_failures(root)
    return tests - failed - skipped, failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--failed-checks", type=int, default=0, help="further failures to add")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    counts = [count(path) for path in arguments.files]
    passed = sum(c[0] for c in counts)
    failed = sum(c[1] for c in counts) + arguments.failed_checks
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Results as JUnit XML."""

import xml.etree.ElementTree


def write_junit(path, suite_name, tests, cases, seconds=None, skipped=()):
    """`cases`: tuples of a name, seconds or None, and the text of the failure or None."""
    failed = sum(1 for _, _, failure in cases if failure)
    suite = xml.etree.ElementTree.Element("testsuite", name=suite_name, tests=str(tests), failures=str(failed),
                                          skipped=str(len(skipped)))
    if seconds is not None:
        suite.set("time", f"{seconds:.3f}")
    for name, taken, failure in cases:
        element = xml.etree.ElementTree.SubElement(suite, "testcase", name=name)
        if taken is not None:
            element.set("time", f"{taken:.3f}")
        if failure:
            text = failure.encode("ascii", "backslashreplace").decode()
            xml.etree.ElementTree.SubElement(element, "failure").text = "".join(
                c if c.isprintable() or c == "\n" else "?" for c in text)
        elif name in skipped:
            xml.etree.ElementTree.SubElement(element, "skipped")
    xml.etree.ElementTree.ElementTree(suite).write(path)

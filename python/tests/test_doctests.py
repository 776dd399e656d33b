"""The examples of all docstrings, and of docs/python.md."""

import doctest
import pathlib

import pytest
import xxl

pytest.importorskip("pyarrow")
pytest.importorskip("numpy")

_OBJECTS = [getattr(xxl, name) for name in xxl.__all__ if name != "__version__"]
_WITH_EXAMPLES = [one for one in _OBJECTS if ">>>" in (one.__doc__ or "")]
_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"


@pytest.mark.parametrize("documented", _WITH_EXAMPLES, ids=lambda one: one.__name__)
def test_examples_of_docstrings_do_what_they_say(documented, in_folder):
    found = doctest.DocTestFinder(recurse=False).find(documented, globs={"xxl": xxl})
    for test in found:
        result = doctest.DocTestRunner().run(test)
        assert result.attempted > 0 and result.failed == 0


def test_every_function_has_an_example():
    functions = {one.__name__ for one in _OBJECTS if not isinstance(one, type)}
    assert functions <= {one.__name__ for one in _WITH_EXAMPLES}


@pytest.mark.skipif(not _PAGE.exists(), reason="the page is not installed")
def test_examples_of_the_page_do_what_they_say(in_folder):
    result = doctest.testfile(str(_PAGE), module_relative=False, globs={"xxl": xxl})
    assert result.attempted > 0 and result.failed == 0

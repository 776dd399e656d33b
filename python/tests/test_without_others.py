"""What is said where pyarrow or NumPy are not installed."""

import pytest

WITHOUT = """
import sys
for name in {modules!r}:
    sys.modules[name] = None
import xxl
try:
    {call}
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.parametrize("module, call", [
    ("pyarrow", "xxl.sort_parquet('in', 'out', 'a')"),
    ("pyarrow", "xxl.join_parquet('in', 'in', 'out', on='a')"),
    ("numpy", "xxl.sort_array([1])"),
    ("numpy", "xxl.join_arrays([1], [1])"),
])
def test_says_what_to_install(run_python, module, call):
    done = run_python(WITHOUT.format(modules=[module], call=call))
    assert f"needs {module}: pip install {module}" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1


def test_files_need_neither(run_python, tmp_path):
    (tmp_path / "in").write_text("b\na\n")
    done = run_python(WITHOUT.format(
        modules=["pyarrow", "numpy"],
        call="print(xxl.sort_file('in', 'out', format='lines', memory='64M').records)"))
    assert done.stdout == "2\n", done.stderr

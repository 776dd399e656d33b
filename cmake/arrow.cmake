# Is there Apache Arrow's C++ library? Sets XXL_HAS_ARROW, and the targets xxl_arrow and xxl_parquet.
# Only the optional module needs it (src/columns/arrow_module). It is found by its CMake packages, or
# within pyarrow, whose wheel has the headers and libraries but no package: in a virtual environment
# that scripts/install_packages.sh --columns makes, or that of python3.
set(XXL_HAS_ARROW OFF)

# Looks for pyarrow in what `python` imports.
function(xxl_find_pyarrow python)
  execute_process(COMMAND "${python}" -c
    "import pyarrow; print(pyarrow.__version__, pyarrow.get_include(), pyarrow.get_library_dirs()[0], sep=';')"
    OUTPUT_VARIABLE found RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    return()
  endif()
  list(GET found 0 version)
  list(GET found 1 include_dir)
  list(GET found 2 library_dir)
  foreach(name IN ITEMS arrow parquet)
    # Its libraries have no names without a version.
    file(GLOB library "${library_dir}/lib${name}.so.*")
    list(LENGTH library count)
    if(NOT count EQUAL 1)
      return()
    endif()
    add_library(xxl_${name} SHARED IMPORTED GLOBAL)
    set_target_properties(xxl_${name} PROPERTIES IMPORTED_LOCATION "${library}"
      INTERFACE_INCLUDE_DIRECTORIES "${include_dir}")
  endforeach()
  message(STATUS "Apache Arrow: ${version}, of ${python}")
  set(XXL_HAS_ARROW ON PARENT_SCOPE)
  set(XXL_ARROW_LIBRARY_DIR "${library_dir}" PARENT_SCOPE)
  set(XXL_ARROW_PYTHON "${python}" PARENT_SCOPE)  # which its tests need, too
endfunction()

if(NOT XXL_ARROW STREQUAL "OFF")
  find_package(Arrow CONFIG QUIET)
  find_package(Parquet CONFIG QUIET)
  if(TARGET Arrow::arrow_shared AND TARGET Parquet::parquet_shared)
    message(STATUS "Apache Arrow: ${Arrow_VERSION}, ${Arrow_DIR}")
    add_library(xxl_arrow ALIAS Arrow::arrow_shared)
    add_library(xxl_parquet ALIAS Parquet::parquet_shared)
    set(XXL_HAS_ARROW ON)
  endif()
  find_program(XXL_PYTHON python3)
  foreach(python IN ITEMS "${CMAKE_BINARY_DIR}/venv/bin/python3"
      "${CMAKE_SOURCE_DIR}/build-columns/venv/bin/python3" "${XXL_PYTHON}")
    if(NOT XXL_HAS_ARROW AND python AND EXISTS "${python}")
      xxl_find_pyarrow("${python}")
    endif()
  endforeach()
  if(XXL_ARROW STREQUAL "ON" AND NOT XXL_HAS_ARROW)
    message(FATAL_ERROR "XXL_ARROW is ON, but there is no Apache Arrow: scripts/install_packages.sh --columns")
  endif()
endif()

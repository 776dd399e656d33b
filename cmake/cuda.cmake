# Is there a compiler for CUDA? Sets XXL_HAS_CUDA. Everything but gpu/*.cu is built without one.
set(XXL_HAS_CUDA OFF)
if(NOT XXL_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # Machine code for A100 and H100/H200, and PTX for what comes after them.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # The runtime is linked statically, and loads the driver's library when it is first used: the
    # program runs on machines that have neither.
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    # CMake 3.25 does not know how nvcc is told of it.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA_STANDARD 20)
    set(XXL_HAS_CUDA ON)
  elseif(XXL_CUDA STREQUAL "ON")
    message(FATAL_ERROR "XXL_CUDA is ON, but there is no CUDA compiler: put nvcc on the PATH")
  endif()
endif()

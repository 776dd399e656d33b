# Is there a compiler for CUDA? Sets XXL_HAS_CUDA. Everything but gpu/*.cu is built without one.
set(XXL_HAS_CUDA OFF)
if(NOT XXL_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # Kernels are compiled once: for the GPU of this machine, or without one for A100, with PTX that later
    # GPUs compile when they first run it. The preset package has machine code for all.
    set(CMAKE_CUDA_ARCHITECTURES 80)
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader --id=0
      OUTPUT_VARIABLE capability ERROR_QUIET RESULT_VARIABLE without_gpu)
    if(NOT without_gpu AND capability MATCHES "^([0-9]+)\\.([0-9])")
      set(capability "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
      if(capability GREATER 90)
        set(CMAKE_CUDA_ARCHITECTURES 90-virtual)  # which every compiler knows
      elseif(capability GREATER 80)
        set(CMAKE_CUDA_ARCHITECTURES ${capability})
      endif()
    endif()
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

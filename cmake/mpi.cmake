# Is there MPI? Sets XXL_HAS_MPI, and makes MPI::MPI_CXX. Only the program xxl-mpi needs it (mpi/).
set(XXL_HAS_MPI OFF)
if(NOT XXL_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON)  # its C interface is used
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    message(STATUS "MPI: ${MPI_CXX_VERSION}, ${MPI_CXX_COMPILER}")
    set(XXL_HAS_MPI ON)
  elseif(XXL_MPI STREQUAL "ON")
    message(FATAL_ERROR "XXL_MPI is ON, but there is no MPI: scripts/install_packages.sh --mpi")
  endif()
endif()

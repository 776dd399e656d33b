# A program that needs nothing but glibc, of this version or any later one (XXL_PORTABLE). All libraries are linked
# statically. scripts/package/older_glibc.py says how the version of glibc is reached.
set(XXL_OLDEST_GLIBC 2.28)
set(XXL_GLIBC_DIR "${CMAKE_BINARY_DIR}/glibc")
execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/package/older_glibc.py" ${XXL_OLDEST_GLIBC} "${XXL_GLIBC_DIR}"
  COMMAND_ERROR_IS_FATAL ANY)
set(XXL_PORTABLE_LINK_OPTIONS "-B${XXL_GLIBC_DIR}" -static-libstdc++ LINKER:--no-as-needed)

# What the distributions do not have as a static library that serves.
set(XXL_BUILT_LIBRARIES "${CMAKE_BINARY_DIR}/libraries")
execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/package/libraries.sh" "${XXL_BUILT_LIBRARIES}"
  COMMAND_ERROR_IS_FATAL ANY)
set(TBB_DIR "${XXL_BUILT_LIBRARIES}/lib/cmake/TBB" CACHE PATH "" FORCE)

# The archives in the place of XXL_LIBRARIES, and what their authors ask to be passed on with them.
macro(xxl_use_archives)
  # Headers are the distribution's, which are of the same source; so all is compiled as without XXL_PORTABLE.
  set_target_properties(TBB::tbb PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "")
  set(XXL_LIBRARIES)
  foreach(name IN ITEMS uring xxhash nettle z zstd lz4 lzma bz2 simdjson)
    find_library(XXL_ARCHIVE_${name} lib${name}.a HINTS "${XXL_BUILT_LIBRARIES}/lib" REQUIRED)
    list(APPEND XXL_LIBRARIES "${XXL_ARCHIVE_${name}}")
  endforeach()
  foreach(package IN ITEMS libboost-program-options1.74-dev libboost-program-options1.83-dev libbz2-dev liblz4-dev
      liblzma-dev libsimdjson-dev libtbb-dev liburing-dev libxxhash-dev libzstd-dev nettle-dev nlohmann-json3-dev
      zlib1g-dev)
    if(EXISTS "/usr/share/doc/${package}/copyright")
      install(FILES "/usr/share/doc/${package}/copyright" RENAME "${package}"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}/copyright")
    endif()
  endforeach()
endmacro()

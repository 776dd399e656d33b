# Installation of the library, and the Debian package of all. The program, its manual pages and
# completions are installed by tools/CMakeLists.txt.
include(CMakePackageConfigHelpers)

set(XXL_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/xxl")
# What XXL_PORTABLE links is the program's: it is packed alone.
set(XXL_LIBRARY_PART)
if(XXL_PORTABLE)
  set(XXL_LIBRARY_PART EXCLUDE_FROM_ALL)
endif()
target_compile_features(xxl PUBLIC cxx_std_20)

# One file of targets for each component, which xxlConfig.cmake finds by their names.
set(XXL_STATIC_TARGETS xxl xxl_cpu)
if(XXL_HAS_CUDA)
  list(APPEND XXL_STATIC_TARGETS xxl_no_gpu)
endif()
install(TARGETS ${XXL_STATIC_TARGETS} EXPORT xxl_static ARCHIVE ${XXL_LIBRARY_PART})
install(EXPORT xxl_static NAMESPACE xxl:: DESTINATION "${XXL_CMAKE_DIR}" ${XXL_LIBRARY_PART})
# A build folder is a package as well, with the inner headers: the Python package is linked with it.
export(EXPORT xxl_static NAMESPACE xxl:: FILE "${CMAKE_BINARY_DIR}/xxl_static.cmake")
if(XXL_SHARED)
  install(TARGETS xxl_shared EXPORT xxl_shared LIBRARY)
  install(EXPORT xxl_shared NAMESPACE xxl:: DESTINATION "${XXL_CMAKE_DIR}")
endif()
install(DIRECTORY include/xxl DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" ${XXL_LIBRARY_PART})
configure_package_config_file(cmake/xxlConfig.cmake.in "${CMAKE_BINARY_DIR}/xxlConfig.cmake"
  INSTALL_DESTINATION "${XXL_CMAKE_DIR}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/xxlConfigVersion.cmake"
  COMPATIBILITY SameMajorVersion)
install(FILES "${CMAKE_BINARY_DIR}/xxlConfig.cmake" "${CMAKE_BINARY_DIR}/xxlConfigVersion.cmake"
  DESTINATION "${XXL_CMAKE_DIR}" ${XXL_LIBRARY_PART})

# For programs that are built without CMake.
if(XXL_HAS_CUDA)
  set(XXL_PC_CUDA "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
endif()
file(RELATIVE_PATH XXL_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/xxl.pc.in "${CMAKE_BINARY_DIR}/xxl.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/xxl.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  ${XXL_LIBRARY_PART})
install(DIRECTORY examples/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples" ${XXL_LIBRARY_PART})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "the xxl developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
if(XXL_PORTABLE)
  # The C++ library is for Apache Arrow's libraries, which are in the package.
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${XXL_OLDEST_GLIBC}), libstdc++6 (>= 8)")
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
  # For the static library, which is in the same package.
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "libtbb-dev, liburing-dev, libxxhash-dev, nettle-dev, zlib1g-dev, libzstd-dev, liblz4-dev, liblzma-dev, libbz2-dev, libsimdjson-dev, pkg-config")
endif()
include(CPack)

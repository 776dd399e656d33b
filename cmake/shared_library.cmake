# libxxl.so, of the objects of the static library.
add_library(xxl_shared SHARED $<TARGET_OBJECTS:xxl>)
set_target_properties(xxl_shared PROPERTIES OUTPUT_NAME xxl EXPORT_NAME shared LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/exported_names.map")
target_include_directories(xxl_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(xxl_shared INTERFACE cxx_std_20)
target_link_libraries(xxl_shared PRIVATE $<TARGET_PROPERTY:xxl,LINK_LIBRARIES>)
target_link_options(xxl_shared PRIVATE LINKER:-z,defs
  "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exported_names.map")

# Unity builds (XXL_UNITY): the compiler reads several sources of a module as one unit, so it reads their headers
# once. A build from nothing needs half the time. All names of a module differ for that, also those in
# unnamed namespaces. Each source includes what it needs all the same: without XXL_UNITY it is a unit of its own.

# Divides the sources of `target` into such units, by their folders.
function(xxl_unite target)
  if(NOT XXL_UNITY)
    return()
  endif()
  set(most 10)  # sources of a unit, all of which are compiled again after a change of one
  get_target_property(home ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  set(modules)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${home}" NORMALIZE)
    cmake_path(GET source PARENT_PATH module)
    cmake_path(RELATIVE_PATH module BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    string(MAKE_C_IDENTIFIER "${module}" module)
    list(APPEND modules "${module}")
    list(APPEND sources_of_${module} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES modules)
  foreach(module IN LISTS modules)
    list(LENGTH sources_of_${module} count)
    math(EXPR units "(${count} + ${most} - 1) / ${most}")
    set(i 0)
    foreach(source IN LISTS sources_of_${module})
      math(EXPR unit "${i} * ${units} / ${count}")
      math(EXPR i "${i} + 1")
      set_source_files_properties("${source}" TARGET_DIRECTORY ${target}
        PROPERTIES UNITY_GROUP "${module}_${unit}")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # To the compiler a unit looks like a source with headers, so it warns of their unnamed namespaces.
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endfunction()

# Tests of the source itself, run from the source folder.

find_program(TENON_CXX NAMES c++ g++ clang++)
find_program(TENON_CLANG clang)
if(NOT TENON_CXX)
  set(TENON_CXX "")
endif()

# tn_check(name command...): exit status 77 means that a tool is missing.
function(tn_check name)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS check SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()

tn_check(layers sh -c "find src -type f | sort | xargs awk -f tools/check_layers.awk tools/layers.txt")
tn_check(budgets sh -c "tools/files.sh src include test fuzz bench | xargs awk -f tools/check_budgets.awk tools/budgets.txt")
tn_check(format tools/check_format.sh)
tn_check(headers tools/check_headers.sh ${CMAKE_C_COMPILER} "${TENON_CXX}" ${tn_gen} ${tn_warnings})
tn_check(unity tools/check_unity.sh ${CMAKE_C_COMPILER} ${tn_gen} ${tn_warnings})
if(TENON_CLANG AND NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  tn_check(unity-clang tools/check_unity.sh ${TENON_CLANG} ${tn_gen} ${tn_warnings})
endif()
tn_check(exports tools/check_exports.sh tools/exports.txt $<TARGET_FILE:tenon_shared> $<TARGET_FILE:tenon_static>)
tn_check(exports_rt tools/check_exports.sh tools/exports_rt.txt $<TARGET_FILE:tenon_rt_shared>
         $<TARGET_FILE:tenon_rt_static>)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TENON_SANITIZE)
  tn_check(rt tools/check_rt.sh $<TARGET_FILE:tenon_rt_shared>)
endif()
if(PROJECT_IS_TOP_LEVEL AND NOT TENON_SANITIZE)
  tn_check(install tools/check_install.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER})
endif()

# The target and the test `tidy` run clang-tidy over src/, again only over what changed.
find_program(TENON_CLANG_TIDY clang-tidy)
add_custom_target(tidy)
if(TENON_CLANG_TIDY)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*.h ${PROJECT_SOURCE_DIR}/src/*/*.def
       ${PROJECT_SOURCE_DIR}/include/tenon/*)
  set(stamps)
  foreach(layer IN LISTS tn_layers ITEMS cli)
    set(sources ${tn_sources_${layer}})
    if(layer STREQUAL "cli")
      set(sources ${tn_cli_sources})
    endif()
    foreach(source IN LISTS sources)
      file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
      set(stamp ${PROJECT_BINARY_DIR}/tidy/${name}.stamp)
      add_custom_command(
        OUTPUT ${stamp}
        COMMAND tools/tidy.sh ${name} ${tn_gen} ${stamp}
        DEPENDS ${source} ${headers} ${PROJECT_SOURCE_DIR}/.clang-tidy ${PROJECT_SOURCE_DIR}/tools/tidy.sh
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        COMMENT "Tidying ${name}"
        VERBATIM)
      list(APPEND stamps ${stamp})
    endforeach()
  endforeach()
  add_custom_target(tidy_files DEPENDS ${stamps})
  add_dependencies(tidy_files tn_gen)
  add_dependencies(tidy tidy_files)
  if(NOT TENON_SANITIZE)
    tn_check(tidy ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target tidy)
    set_tests_properties(tidy PROPERTIES TIMEOUT 1800)
  endif()
endif()

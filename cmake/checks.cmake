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
if(PROJECT_IS_TOP_LEVEL AND NOT TENON_SANITIZE)
  tn_check(install tools/check_install.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER})
endif()

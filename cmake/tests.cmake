# Tests, all under ctest. doc/testing.md says what each kind is.

# tn_timeout(name seconds): what a test may take. A sanitized program runs several times as long as another.
function(tn_timeout name seconds)
  if(TENON_SANITIZE)
    math(EXPR seconds "8 * ${seconds}")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds})
endfunction()

# tn_unit_test(layer file) makes `unit/<layer>/<name>` of test/unit/<layer>/<name>_test.c. It is linked to its layer
# and those below, so that a broken higher layer cannot break it. Layers that see graphs also get the operators.
function(tn_unit_test layer file)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "_test$" "" name ${name})
  set(target unit_${layer}_${name})
  add_executable(${target} ${file})
  set(needs ${layer} ${tn_needs_${layer}})
  if("ir" IN_LIST needs)
    list(APPEND needs op ${tn_needs_op})
  endif()
  list(REMOVE_DUPLICATES needs)
  list(TRANSFORM needs APPEND _a)
  list(TRANSFORM needs PREPEND tn_)
  list(JOIN needs "," needs)
  target_link_libraries(${target} PRIVATE "$<LINK_GROUP:RESCAN,${needs}>" tn_flags)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/test/unit ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE TN_TEST_DIR="${PROJECT_SOURCE_DIR}/test"
                                               TN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
  add_dependencies(${target} tn_gen)
  add_test(NAME unit/${layer}/${name} COMMAND ${target})
  set_tests_properties(unit/${layer}/${name} PROPERTIES LABELS unit)
  tn_timeout(unit/${layer}/${name} 120)
endfunction()

foreach(layer IN LISTS tn_layers)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/unit/${layer}/*_test.c)
  foreach(file IN LISTS files)
    tn_unit_test(${layer} ${file})
  endforeach()
endforeach()

# tn_python_test(name script [args...]) runs a script of test/ with the project's Python, with the files that were built
# in its environment. Exit status 77 means skipped; so does a package of the script's `# needs:` line that is missing.
function(tn_python_test name script)
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tools/python_test.sh ${script} ${ARGN})
  string(REGEX REPLACE "/.*" "" label ${name})
  set_tests_properties(
    ${name}
    PROPERTIES SKIP_RETURN_CODE 77 LABELS ${label}
               ENVIRONMENT
               "TENON=${PROJECT_BINARY_DIR}/tenon;TENON_LIB=${PROJECT_BINARY_DIR}/libtenon.so;TENON_BUILD=${PROJECT_BINARY_DIR};TENON_SOURCE=${PROJECT_SOURCE_DIR};TENON_SANITIZE=${TENON_SANITIZE};PYTHONPATH=${PROJECT_SOURCE_DIR}/python")
  tn_timeout(${name} 900)
endfunction()

# tn_whole_test(folder file) makes `<folder>/<name>` of test/<folder>/<name>_test.c, linked to the whole library with
# what is hidden in it.
function(tn_whole_test folder file)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "_test$" "" name ${name})
  set(target test_${folder}_${name})
  add_executable(${target} ${file})
  target_link_libraries(${target} PRIVATE tenon_static tn_flags)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/test/unit ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE TN_TEST_DIR="${PROJECT_SOURCE_DIR}/test"
                                               TN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
  add_dependencies(${target} tn_gen)
  add_test(NAME ${folder}/${name} COMMAND ${target})
  set_tests_properties(${folder}/${name} PROPERTIES LABELS ${folder})
  tn_timeout(${folder}/${name} 600)
endfunction()

# A script test/<folder>/<name>.py is the test <folder>/<name>; one whose name begins with "_" is a module of others.
# A folder with a tests.cmake says itself what is run.
file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/test/*)
foreach(folder IN LISTS folders)
  get_filename_component(label ${folder} NAME)
  if(EXISTS ${folder}/tests.cmake)
    include(${folder}/tests.cmake)
    continue()
  endif()
  if(NOT label STREQUAL "unit")
    file(GLOB files CONFIGURE_DEPENDS ${folder}/*_test.c)
    foreach(file IN LISTS files)
      tn_whole_test(${label} ${file})
    endforeach()
  endif()
  file(GLOB scripts CONFIGURE_DEPENDS ${folder}/*.py)
  foreach(script IN LISTS scripts)
    get_filename_component(name ${script} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    if(NOT name MATCHES "^_")
      tn_python_test(${label}/${name} ${script})
    endif()
  endforeach()
endforeach()

# fuzz/<name>_fuzz.c: replayed over fuzz/corpus/<name> by every build, fuzzed by the targets fuzz_<name>.
if(TENON_FUZZ AND NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "TENON_FUZZ needs clang: set CMAKE_C_COMPILER")
endif()
file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.c)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  add_executable(replay_${name} ${file} ${PROJECT_SOURCE_DIR}/fuzz/replay.c)
  set(programs replay_${name})
  if(TENON_FUZZ)
    add_executable(fuzz_${name} ${file})
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer-no-link) # a target may include what it tests
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    list(APPEND programs fuzz_${name})
  endif()
  foreach(program IN LISTS programs)
    target_link_libraries(${program} PRIVATE tenon_static tn_flags)
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    add_dependencies(${program} tn_gen)
  endforeach()
  add_test(NAME fuzz/${name} COMMAND replay_${name} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz)
  tn_timeout(fuzz/${name} 300)
endforeach()
if(TENON_FUZZ)
  foreach(layer IN LISTS tn_layers)
    target_compile_options(tn_${layer} PRIVATE -fsanitize=fuzzer-no-link)
  endforeach()
endif()

include(cmake/checks.cmake)

# sym/lines answers the script's questions; TN_DRAWS in the environment sets how many.
add_executable(test_sym_lines ${PROJECT_SOURCE_DIR}/test/sym/lines.c)
target_link_libraries(test_sym_lines PRIVATE "$<LINK_GROUP:RESCAN,tn_sym_a,tn_base_a>" tn_flags)
set_target_properties(test_sym_lines PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
add_dependencies(test_sym_lines tn_gen)
tn_python_test(sym/bigint ${PROJECT_SOURCE_DIR}/test/sym/bigint.py)

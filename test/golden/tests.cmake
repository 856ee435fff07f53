tn_python_test(golden/pass ${PROJECT_SOURCE_DIR}/tools/golden.py ${PROJECT_SOURCE_DIR}/test/golden)

# A fixed set of draws over a few operators of each family; doc/testing.md has the run over everything.
set(ops "")
foreach(op Add Concat Conv Resize Softmax TopK StringSplit LabelEncoder GatherBlockQuantized)
  list(APPEND ops --op ${op})
endforeach()
tn_python_test(gen/differential ${PROJECT_SOURCE_DIR}/test/gen/differential.py ${ops} --draws 1)
tn_python_test(gen/cases ${PROJECT_SOURCE_DIR}/test/gen/cases.py)
tn_python_test(gen/edges ${PROJECT_SOURCE_DIR}/test/gen/edges.py --forms 4 --jobs 2)
tn_python_test(gen/schema ${PROJECT_SOURCE_DIR}/test/gen/schema.py)

# A first look; doc/testing.md has the long run.
tn_python_test(gen/soundness ${PROJECT_SOURCE_DIR}/test/gen/soundness.py --graphs 150 --seed 1 --jobs 2)

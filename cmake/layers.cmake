# One object library tn_<layer> and one archive tn_<layer>_a per folder of src/. The layers, their order and what each
# stands on are read from tools/layers.txt, the same file that the `layers` test checks the includes against.
#
#   tn_layers         all layers, lowest first
#   tn_needs_<layer>  the layers it stands on, transitively

set(tn_layers_file ${PROJECT_SOURCE_DIR}/tools/layers.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tn_layers_file})

set(tn_layers)
file(STRINGS ${tn_layers_file} tn_rows REGEX "^[a-z]+ *:")
foreach(row IN LISTS tn_rows)
  string(REGEX REPLACE "#.*" "" row "${row}")
  string(REGEX REPLACE " *:.*" "" layer "${row}")
  string(REGEX MATCHALL "[a-z]+" direct "${row}")
  list(REMOVE_AT direct 0)
  set(needs)
  foreach(below IN LISTS direct)
    list(APPEND needs ${below} ${tn_needs_${below}})
  endforeach()
  list(REMOVE_DUPLICATES needs)
  set(tn_needs_${layer} ${needs})
  list(APPEND tn_layers ${layer})
endforeach()
list(REMOVE_ITEM tn_layers cli) # a program, not part of the library

# Lists of operators, importers and kernels: scanned at every build, replaced only when they differ, so that a deleted
# file takes its rows with it and an unchanged tree rebuilds nothing.
set(tn_gen ${PROJECT_BINARY_DIR}/gen)
set(tn_gen_files ${tn_gen}/op_list.inc ${tn_gen}/onnx_list.inc ${tn_gen}/kernel_list.inc ${tn_gen}/source_hash.inc)
add_custom_target(
  tn_gen
  COMMAND ${PROJECT_SOURCE_DIR}/tools/scan.sh ${PROJECT_SOURCE_DIR}/src ${tn_gen}
  BYPRODUCTS ${tn_gen_files}
  COMMENT "Scanning src"
  VERBATIM)

foreach(layer IN LISTS tn_layers)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${layer}/*.c)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    list(FILTER sources EXCLUDE REGEX "/kern/[^/]*_v[34]\\.c$")
  endif()
  foreach(source IN LISTS sources)
    if(layer STREQUAL "kern") # a source's options come after those of its target, whose -ffp-contract=off would win
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=fast)
    endif()
    if(source MATCHES "/kern/[^/]*_v([34])\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -march=x86-64-v${CMAKE_MATCH_1})
    endif()
  endforeach()
  set(tn_sources_${layer} ${sources})
  add_library(tn_${layer} OBJECT ${sources})
  target_link_libraries(tn_${layer} PRIVATE tn_flags)
  add_dependencies(tn_${layer} tn_gen)
  add_library(tn_${layer}_a STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tn_${layer}>)
endforeach()

target_compile_options(tn_kern PRIVATE -fno-trapping-math $<$<CONFIG:Release>:-O3>)

# What the schemas of operators say of each kernel's operands, for the run-time library: written by a program of the
# layers that know operators.
add_executable(tn_ports ${PROJECT_SOURCE_DIR}/tools/ports.c)
set_target_properties(tn_ports PROPERTIES OUTPUT_NAME ports RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tools)
target_link_libraries(tn_ports PRIVATE $<LINK_GROUP:RESCAN,tn_op_a,tn_ir_a> tn_sym_a tn_base_a tn_flags)
add_custom_command(
  OUTPUT ${tn_gen}/port_list.inc
  COMMAND tn_ports ${tn_gen}/port_list.inc
  DEPENDS tn_ports
  COMMENT "Writing what kernels may rely on"
  VERBATIM)
target_sources(tn_kern PRIVATE ${tn_gen}/port_list.inc)
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/kern/ports.c APPEND PROPERTY OBJECT_DEPENDS ${tn_gen}/port_list.inc)

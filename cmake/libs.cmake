# What is shipped: libtenon (everything), libtenon_rt (runs programs, holds no compiler), the program `tenon`.

set(tn_rt_layers ${tn_needs_rt} rt)

set(tn_all_objects)
foreach(layer IN LISTS tn_layers)
  list(APPEND tn_all_objects $<TARGET_OBJECTS:tn_${layer}>)
endforeach()
set(tn_rt_objects)
foreach(layer IN LISTS tn_rt_layers)
  list(APPEND tn_rt_objects $<TARGET_OBJECTS:tn_${layer}>)
endforeach()

# The part of the C API that needs no compiler.
file(GLOB tn_api_rt CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/driver/api_rt.c
     ${PROJECT_SOURCE_DIR}/src/driver/api_dlpack.c)
if(tn_api_rt)
  add_library(tn_api_rt OBJECT ${tn_api_rt})
  target_link_libraries(tn_api_rt PRIVATE tn_flags)
  list(APPEND tn_rt_objects $<TARGET_OBJECTS:tn_api_rt>)
endif()

# The run-time library is small: no tables for unwinding, which C has no use for (debuggers read .debug_frame), and what
# no program can reach is left out. Other builds keep what profilers want.
set(tn_rt_options)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TENON_SANITIZE)
  set(tn_rt_options -fno-asynchronous-unwind-tables -fno-unwind-tables -ffunction-sections -fdata-sections)
endif()
foreach(target IN LISTS tn_rt_layers ITEMS api_rt)
  if(TARGET tn_${target})
    target_compile_options(tn_${target} PRIVATE ${tn_rt_options})
  endif()
endforeach()

# tn_library(name objects...) makes <name>_static and <name>_shared, both called lib<name>.
function(tn_library name)
  add_library(${name}_static STATIC ${ARGN})
  add_library(${name}_shared SHARED ${ARGN})
  set_target_properties(${name}_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  if(NOT TENON_SANITIZE)
    target_link_options(${name}_shared PRIVATE -Wl,-z,defs) # proves that nothing is missing
  else()
    target_link_options(${name}_shared PRIVATE -fsanitize=${TENON_SANITIZE})
  endif()
  foreach(kind static shared)
    set_target_properties(${name}_${kind} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C)
    target_include_directories(${name}_${kind} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  add_library(tenon::${name} ALIAS ${name}_shared)
  add_library(tenon::${name}_static ALIAS ${name}_static)
  target_link_libraries(${name}_static PUBLIC Threads::Threads m)
  target_link_libraries(${name}_shared PRIVATE Threads::Threads m)
endfunction()

tn_library(tenon ${tn_all_objects})
tn_library(tenon_rt ${tn_rt_objects})
if(tn_rt_options)
  target_link_options(tenon_rt_shared PRIVATE -Wl,--gc-sections)
endif()

file(GLOB tn_cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.c)
if(tn_cli_sources)
  add_executable(tenon ${tn_cli_sources})
  target_link_libraries(tenon PRIVATE tenon_static tn_flags)
endif()

# Programs beside the product: bench/<name>.c and examples/<name>.c, each one file.
foreach(folder bench examples)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    add_executable(${folder}_${name} ${file})
    target_link_libraries(${folder}_${name} PRIVATE tenon_static tn_flags)
    set_target_properties(${folder}_${name} PROPERTIES OUTPUT_NAME ${name}
                                                       RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
  endforeach()
endforeach()

# How every file of the project is compiled: the interface library tn_flags.

# Before the options of a target, so that src/kern can raise the level.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

set(tn_warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla -Wundef
    -Wwrite-strings -Wcast-qual -Wcast-align -Wpointer-arith -Wformat=2 -Wimplicit-fallthrough -Wnull-dereference
    -Wdouble-promotion -Wconversion -Wno-missing-field-initializers)
if(TENON_WERROR)
  list(APPEND tn_warnings -Werror)
endif()

find_package(Threads REQUIRED)

add_library(tn_flags INTERFACE)
target_compile_definitions(tn_flags INTERFACE _GNU_SOURCE $<$<BOOL:${TENON_DEBUG}>:TN_DEBUG>)
target_compile_options(
  tn_flags
  INTERFACE ${tn_warnings}
            # gcc's depends on the optimiser and misreads statuses; clang's own check stays
            $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
            $<$<CONFIG:Release>:-g1>
            $<$<BOOL:${TENON_DEBUG}>:-UNDEBUG> # TN_ASSERT is assert()
            -fno-math-errno
            -ffp-contract=off # one rounding per operation, whatever the machine; src/kern opts out
            -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
            -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
target_include_directories(tn_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                                              ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/gen)
target_link_libraries(tn_flags INTERFACE Threads::Threads m)

if(TENON_SANITIZE)
  target_compile_options(tn_flags INTERFACE -fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all
                                            -fno-omit-frame-pointer -g)
  target_link_options(tn_flags INTERFACE -fsanitize=${TENON_SANITIZE})
endif()

# Install rules: headers, libraries, the program, and what find_package(tenon) and pkg-config read.
#
# Targets of the package: tenon::tenon and tenon::tenon_rt (shared), tenon::tenon_static and tenon::tenon_rt_static.

include(CMakePackageConfigHelpers)

set(tn_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)

foreach(name tenon tenon_rt)
  set_target_properties(${name}_shared PROPERTIES EXPORT_NAME ${name})
endforeach()

install(
  TARGETS tenon_shared tenon_static tenon_rt_shared tenon_rt_static
  EXPORT tenon
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT tenon NAMESPACE tenon:: FILE tenonTargets.cmake DESTINATION ${tn_package_dir})
if(TARGET tenon)
  install(TARGETS tenon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/include/tenon
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING
  PATTERN "*.h"
  PATTERN "*.def"
  PATTERN "tenon_unstable.h" EXCLUDE)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tenonConfig.cmake.in ${PROJECT_BINARY_DIR}/tenonConfig.cmake
                              INSTALL_DESTINATION ${tn_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tenonConfig.cmake ${PROJECT_BINARY_DIR}/tenonConfigVersion.cmake
        DESTINATION ${tn_package_dir})

# Paths relative to the file itself, so that an installed tree can be moved.
file(RELATIVE_PATH tn_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" tn_pc_up ${tn_pc_up})
configure_file(${PROJECT_SOURCE_DIR}/cmake/tenon.pc.in ${PROJECT_BINARY_DIR}/tenon.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

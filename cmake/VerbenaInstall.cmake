# SPDX-License-Identifier: Apache-2.0 OR MIT
# What an installation holds: headers, library, package files for CMake and pkg-config, tables, models, licences.
include(CMakePackageConfigHelpers)

set(verbena_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/verbena")
set(verbena_data_dir "${CMAKE_INSTALL_DATADIR}/verbena")

install(TARGETS verbena EXPORT verbenaTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" NAMELINK_COMPONENT development)
install(DIRECTORY core/include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

configure_package_config_file(cmake/verbenaConfig.cmake.in "${PROJECT_BINARY_DIR}/verbenaConfig.cmake"
  INSTALL_DESTINATION "${verbena_cmake_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/verbenaConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(EXPORT verbenaTargets NAMESPACE verbena:: DESTINATION "${verbena_cmake_dir}")
install(FILES "${PROJECT_BINARY_DIR}/verbenaConfig.cmake" "${PROJECT_BINARY_DIR}/verbenaConfigVersion.cmake"
  cmake/FindRdmaCore.cmake DESTINATION "${verbena_cmake_dir}")

# Relative to ${prefix} where they can be, so that the file may be moved with its tree.
foreach(kind IN ITEMS libdir includedir datadir)
  string(TOUPPER "CMAKE_INSTALL_${kind}" variable)
  if(IS_ABSOLUTE "${${variable}}")
    set(pc_${kind} "${${variable}}")
  else()
    set(pc_${kind} "\${prefix}/${${variable}}")
  endif()
endforeach()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH pc_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  set(pc_prefix "\${pcfiledir}/${pc_up}")
  string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
endif()
configure_file(cmake/verbena.pc.in "${PROJECT_BINARY_DIR}/verbena.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/verbena.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# Tables and models are read where they lie; their JSON schemas serve editors.
foreach(pair IN ITEMS "quirks quirks.d" "models models")
  separate_arguments(pair)
  list(GET pair 0 folder)
  list(GET pair 1 target)
  file(GLOB tables CONFIGURE_DEPENDS "${folder}/*.yaml")
  file(GLOB_RECURSE schemas CONFIGURE_DEPENDS "${folder}/*.schema.json" "${folder}/schema.json")
  file(GLOB examples CONFIGURE_DEPENDS "${folder}/examples/*")
  install(FILES ${tables} DESTINATION "${verbena_data_dir}/${target}")
  install(FILES ${schemas} DESTINATION "${verbena_data_dir}/schemas")
  install(FILES ${examples} DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples/${folder}")
endforeach()
# What `verbena ... -j` prints, for scripts.
file(GLOB output_schemas CONFIGURE_DEPENDS "tools/verbena/schema/*.schema.json")
install(FILES ${output_schemas} DESTINATION "${verbena_data_dir}/schemas/output")
install(FILES LICENSE-APACHE LICENSE-MIT LICENSE-CC0 README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")

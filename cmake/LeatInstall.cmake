# The one installed library, leat::leat, made of all parts, and its CMake package.
# Its users do not need our dependencies: neither their headers nor find_package calls.

set(parts leat_messages leat_runtime leat_actors)
list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
list(APPEND objects $<TARGET_OBJECTS:leat_runtime_light>)
get_property(headers GLOBAL PROPERTY LEAT_PUBLIC_HEADERS)

add_library(leat SHARED ${objects})
add_library(leat::leat ALIAS leat)
target_link_libraries(leat PRIVATE ${parts}) # for the libraries that the parts link; their objects are included already
target_sources(leat INTERFACE
  FILE_SET HEADERS
  BASE_DIRS "${PROJECT_SOURCE_DIR}/messages" "${PROJECT_SOURCE_DIR}/runtime" "${PROJECT_SOURCE_DIR}/actors"
  FILES ${headers})
target_compile_features(leat INTERFACE cxx_std_20)
set(exports "${PROJECT_SOURCE_DIR}/cmake/leat.map")
target_link_options(leat PRIVATE "LINKER:--version-script=${exports}")
leat_hide_libraries(leat)
set_target_properties(leat PROPERTIES
  LINK_DEPENDS "${exports}"
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/leat")
configure_package_config_file(cmake/leatConfig.cmake.in leatConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(leatConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS leat EXPORT leatTargets FILE_SET HEADERS)
install(EXPORT leatTargets NAMESPACE leat:: DESTINATION "${package_dir}")
install(FILES "${PROJECT_BINARY_DIR}/leatConfig.cmake" "${PROJECT_BINARY_DIR}/leatConfigVersion.cmake"
  DESTINATION "${package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

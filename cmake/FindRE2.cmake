# Debian's libre2-dev has a CMake package file from 13 on, where the library needs Abseil.
# Provides: RE2::re2
find_package(re2 QUIET CONFIG)
if(TARGET re2::re2)
  set(RE2_LIBRARY re2::re2)
else()
  find_library(RE2_LIBRARY re2)
endif()
find_path(RE2_INCLUDE_DIR re2/re2.h)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RE2 REQUIRED_VARS RE2_LIBRARY RE2_INCLUDE_DIR)

if(RE2_FOUND AND NOT TARGET RE2::re2)
  add_library(RE2::re2 INTERFACE IMPORTED)
  set_target_properties(RE2::re2 PROPERTIES
    INTERFACE_LINK_LIBRARIES "${RE2_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${RE2_INCLUDE_DIR}")
endif()

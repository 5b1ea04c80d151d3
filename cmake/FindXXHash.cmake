# Debian's libxxhash-dev installs no CMake package file.
# Provides: XXHash::xxhash, whose users see LEAT_HAS_XXH_DISPATCH if it chooses instructions when it runs: Debian's archive, of
# which wheels are made, does not.
find_path(XXHASH_INCLUDE_DIR xxhash.h)
find_library(XXHASH_LIBRARY xxhash)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XXHash REQUIRED_VARS XXHASH_LIBRARY XXHASH_INCLUDE_DIR)

if(XXHash_FOUND AND NOT TARGET XXHash::xxhash)
  add_library(XXHash::xxhash UNKNOWN IMPORTED)
  set_target_properties(XXHash::xxhash PROPERTIES
    IMPORTED_LOCATION "${XXHASH_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${XXHASH_INCLUDE_DIR}")
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES "${XXHASH_INCLUDE_DIR}")
  set(CMAKE_REQUIRED_LIBRARIES "${XXHASH_LIBRARY}")
  check_cxx_source_compiles("#include <xxh_x86dispatch.h>\nint main() { return static_cast<int>(XXH3_64bits(nullptr, 0)); }" LEAT_HAS_XXH_DISPATCH)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(LEAT_HAS_XXH_DISPATCH)
    set_property(TARGET XXHash::xxhash PROPERTY INTERFACE_COMPILE_DEFINITIONS LEAT_HAS_XXH_DISPATCH)
  endif()
endif()

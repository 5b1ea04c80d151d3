# Debian's libutf8proc-dev installs no CMake package file.
# Provides: UTF8PROC::utf8proc
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h)
find_library(UTF8PROC_LIBRARY utf8proc)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(UTF8PROC REQUIRED_VARS UTF8PROC_LIBRARY UTF8PROC_INCLUDE_DIR)

if(UTF8PROC_FOUND AND NOT TARGET UTF8PROC::utf8proc)
  add_library(UTF8PROC::utf8proc UNKNOWN IMPORTED)
  set_target_properties(UTF8PROC::utf8proc PROPERTIES
    IMPORTED_LOCATION "${UTF8PROC_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${UTF8PROC_INCLUDE_DIR}")
endif()

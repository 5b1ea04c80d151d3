# Settings that every target shares, and the helpers that declare targets.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON) # target all_verify_interface_header_sets: every header compiles on its own
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
include(GNUInstallDirs)

if(LEAT_SANITIZE)
  add_compile_options(-fsanitize=${LEAT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${LEAT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # its manual: with sanitizers this warning has false positives
    set(LEAT_SANITIZE_WARNINGS -Wno-maybe-uninitialized)
  endif()
endif()

include(CheckLanguage)
check_language(CUDA) # nothing needs it yet
if(CMAKE_CUDA_COMPILER)
  message(STATUS "CUDA toolkit: ${CMAKE_CUDA_COMPILER}")
else()
  message(STATUS "CUDA toolkit: none, building for the host alone")
endif()

add_library(leat_warnings INTERFACE)
target_compile_options(leat_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow=local
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # g++ 12 reports std::string's own operator+ (PR 105651)
  ${LEAT_SANITIZE_WARNINGS}
  $<$<BOOL:${LEAT_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set_property(TARGET leat_warnings PROPERTY INTERFACE_COMPILE_OPTIONS
    -Wall -Wextra -Wpedantic -Wreserved-identifier -Wthread-safety
    $<$<NOT:$<BOOL:${LEAT_UNITY}>>:-Wshadow> # it would report names of another source in the same unit
    $<$<BOOL:${LEAT_WERROR}>:-Werror>)
endif()

# leat_unity(<target> [BATCH <n>]): if LEAT_UNITY is on, compiles n (8) adjacent sources of its list as one: no two of them may
# then use the same name for different things in unnamed namespaces.
function(leat_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BATCH" "")
  if(NOT arg_BATCH)
    set(arg_BATCH 8)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LEAT_UNITY} UNITY_BUILD_BATCH_SIZE ${arg_BATCH})
  if(LEAT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # it treats included sources as headers
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# leat_library(<folder> SOURCES <cpp>... [LINKS <target>...] [PRIVATE_LINKS <target>...])
#   One static library per top-level folder; its headers are the folder's own *.hpp and those in leat/.
function(leat_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS;PRIVATE_LINKS")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "*.hpp")
  list(FILTER headers EXCLUDE REGEX "/leat/[^/]+$")
  file(GLOB public_headers CONFIGURE_DEPENDS "leat/*.hpp")
  add_library(leat_${folder} STATIC ${arg_SOURCES})
  add_library(leat::${folder} ALIAS leat_${folder})
  leat_unity(leat_${folder})
  target_sources(leat_${folder} PUBLIC
    FILE_SET public_headers TYPE HEADERS BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}" FILES ${public_headers}
    FILE_SET inner_headers TYPE HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${headers})
  target_link_libraries(leat_${folder} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS} $<BUILD_INTERFACE:leat_warnings>)
  set_property(GLOBAL APPEND PROPERTY LEAT_PUBLIC_HEADERS ${public_headers})
endfunction()

add_custom_target(thread_tests COMMENT "Tests with the label threads")

# leat_draw_test(<result> <name> <label>...): whether this test is among those that LEAT_TEST_SEED draws; without a seed all are.
function(leat_draw_test result name)
  set(limit 3)
  if("process-slow" IN_LIST ARGN)
    set(limit 0)
  elseif(ARGN MATCHES "(^|;)(process|conformance|actors)(;|$)")
    set(limit 2)
  endif()
  string(SHA256 digest "${LEAT_TEST_SEED} ${name}")
  string(SUBSTRING "${digest}" 0 6 digits)
  math(EXPR drawn "0x${digits} % 6")
  if(LEAT_TEST_SEED STREQUAL "" OR drawn LESS limit) # 0 is a seed
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# leat_test(<folder>/<unit>_test.cpp... [LINKS <target>...] [TIMEOUT <seconds>] [LABELS <label>...])
#   One executable per tested unit, named test_<folder>_<unit>_test; ctest lists each test case as "<folder>/<sentence>".
function(leat_test source)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LINKS;LABELS;DEFINITIONS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60) # a lost message shows as a hang
  endif()
  cmake_path(GET source PARENT_PATH folder)
  cmake_path(GET source STEM unit)
  string(REPLACE "/" "_" target "test_${folder}_${unit}")
  add_executable(${target} ${source})
  if(TARGET leat_test_headers)
    target_precompile_headers(${target} REUSE_FROM leat_test_headers)
  endif()
  target_link_libraries(${target} PRIVATE leat_test_support ${arg_LINKS} leat_warnings)
  target_compile_definitions(${target} PRIVATE ${arg_DEFINITIONS})
  set(labels ${folder} ${arg_LABELS})
  leat_draw_test(is_drawn ${target} ${labels})
  if(NOT is_drawn)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  list(JOIN labels "," labels) # Catch's script would split a list; ctest -L searches in the text
  catch_discover_tests(${target} TEST_PREFIX "${folder}/" DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${labels}" SKIP_RETURN_CODE 4)
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(thread_tests ${target})
  endif()
endfunction()

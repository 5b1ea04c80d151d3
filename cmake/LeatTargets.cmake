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
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
include(GNUInstallDirs)

if(LEAT_SANITIZE)
  add_compile_options(-fsanitize=${LEAT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang") # saves a quarter of the time for sources that include CAF
    add_compile_options("-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers.ignore")
  endif()
  add_link_options(-fsanitize=${LEAT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # with sanitizers this warning has false positives, according to GCC's manual
    set(LEAT_SANITIZE_WARNINGS -Wno-maybe-uninitialized)
  endif()
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
    $<$<NOT:$<BOOL:${LEAT_UNITY}>>:-Wshadow> # in a unity build it would report names of other sources
    $<$<BOOL:${LEAT_WERROR}>:-Werror>)
endif()

# leat_unity(<target>): if LEAT_UNITY is on, compiles the sources of each folder below the target's own as one; with GROUPS, those of
# several such folders. No two of them may then use the same name for different things in unnamed namespaces.
# leat_unity(<target> BATCH <n>): n adjacent sources of its list.
function(leat_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BATCH" "GROUPS")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LEAT_UNITY})
  if(arg_BATCH)
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${arg_BATCH})
  else()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
      set(group "top")
      if("${source}" MATCHES "/operators/")
        set(group "operators")
      elseif("${source}" MATCHES "^([^/]+)/")
        set(group "${CMAKE_MATCH_1}")
      endif()
      foreach(joined IN LISTS arg_GROUPS)
        if("+${joined}+" MATCHES "\\+${group}\\+")
          set(group "${joined}")
        endif()
      endforeach()
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
    endforeach()
  endif()
  if(LEAT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # g++ treats included sources as headers
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# leat_light(<target>): for sources that do nothing per sample. Compiles them in Release with -O1, which takes a third less time
# than -O3.
function(leat_light target)
  target_compile_options(${target} PRIVATE
    $<$<CONFIG:Release>:-O1>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>) # g++ 12 warns about members of std::optional
endfunction()

# leat_sources(<result> <folder>...): all sources that lie in these folders, but not those in folders below.
function(leat_sources result)
  list(TRANSFORM ARGN APPEND "/*.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" ${patterns})
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# leat_library(<folder> FOLDERS <folder>... [LIGHT_FOLDERS <folder>...] [GROUPS <folder>+<folder>...]
#              [LINKS <target>...] [PRIVATE_LINKS <target>...])
#   One static library per top-level folder, of the sources in these folders of it; its headers are the folder's own *.hpp and those
#   in leat/. Light folders: see leat_light; groups: see leat_unity.
function(leat_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;LIGHT_FOLDERS;GROUPS;LINKS;PRIVATE_LINKS")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "*.hpp")
  list(FILTER headers EXCLUDE REGEX "/leat/[^/]+$")
  file(GLOB public_headers CONFIGURE_DEPENDS "leat/*.hpp")
  leat_sources(sources ${arg_FOLDERS})
  add_library(leat_${folder} STATIC ${sources})
  add_library(leat::${folder} ALIAS leat_${folder})
  leat_unity(leat_${folder} GROUPS ${arg_GROUPS})
  target_sources(leat_${folder} PUBLIC
    FILE_SET public_headers TYPE HEADERS BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}" FILES ${public_headers}
    FILE_SET inner_headers TYPE HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${headers})
  target_link_libraries(leat_${folder} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS} $<BUILD_INTERFACE:leat_warnings>)
  if(arg_LIGHT_FOLDERS)
    leat_sources(sources ${arg_LIGHT_FOLDERS})
    add_library(leat_${folder}_light OBJECT ${sources})
    leat_unity(leat_${folder}_light GROUPS ${arg_GROUPS})
    leat_light(leat_${folder}_light)
    target_include_directories(leat_${folder}_light PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}")
    target_link_libraries(leat_${folder}_light PRIVATE ${arg_LINKS} ${arg_PRIVATE_LINKS} leat_warnings)
    target_sources(leat_${folder} PRIVATE $<TARGET_OBJECTS:leat_${folder}_light>)
  endif()
  set_property(GLOBAL APPEND PROPERTY LEAT_PUBLIC_HEADERS ${public_headers})
endfunction()

add_custom_target(thread_tests COMMENT "Programs of the tests with the label threads")

# leat_draw_test(<result> <name> <label>...): whether this unit is among those that LEAT_TEST_SEED selects; all are without a seed.
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

# leat_test_label(<label> <folder>/<unit>...)
#   Labels all tests of <folder>/<unit>_test.cpp.
# leat_test_timeout(<seconds> <folder>/<unit>...)
#   For tests that may take more than a minute. The longest begin first.
#   Call both before the leat_tests() that compiles the unit.
function(leat_test_label label)
  foreach(unit IN LISTS ARGN)
    leat_check_unit("${unit}")
    set_property(GLOBAL APPEND PROPERTY "LEAT_LABELS ${unit}" ${label})
  endforeach()
endfunction()
function(leat_test_timeout seconds)
  foreach(unit IN LISTS ARGN)
    leat_check_unit("${unit}")
    set_property(GLOBAL PROPERTY "LEAT_TIMEOUT ${unit}" ${seconds})
  endforeach()
endfunction()
function(leat_check_unit unit)
  if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${unit}_test.cpp")
    message(FATAL_ERROR "There is no ${unit}_test.cpp in ${CMAKE_CURRENT_SOURCE_DIR}, got \"${unit}\"")
  endif()
endfunction()

# leat_tests(<folder> [UNITS <unit>...] [EXCEPT <unit>...] [NEEDS <target>...] [HELPERS <cpp>...] [LINKS <target>...])
#   One program, test_<folder>, of all *_test.cpp in <folder> and below, or of the given units only. ctest lists each test case
#   as "<folder of its source>/<sentence>", with the labels and the timeout of its unit.
function(leat_tests folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "UNITS;EXCEPT;NEEDS;HELPERS;LINKS")
  if(arg_UNITS)
    list(TRANSFORM arg_UNITS REPLACE "(.+)" "${folder}/\\1_test.cpp" OUTPUT_VARIABLE sources)
    list(JOIN arg_UNITS "_" suffix)
    set(program "test_${folder}_${suffix}")
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "${folder}/*_test.cpp")
    list(TRANSFORM arg_EXCEPT REPLACE "(.+)" "${folder}/\\1_test.cpp")
    list(REMOVE_ITEM sources ${arg_EXCEPT})
    set(program "test_${folder}")
  endif()
  string(REPLACE "/" "_" program "${program}")

  set(compiled)
  set(groups) # tests that ctest treats alike: "<folder> <timeout> <label>,<label>..."
  foreach(source IN LISTS sources)
    string(REGEX REPLACE "_test\\.cpp$" "" unit "${source}")
    cmake_path(GET source PARENT_PATH place)
    cmake_path(GET source STEM tag)
    get_property(labels GLOBAL PROPERTY "LEAT_LABELS ${unit}")
    get_property(timeout GLOBAL PROPERTY "LEAT_TIMEOUT ${unit}")
    if(NOT timeout)
      set(timeout 60) # a lost message shows as a hang
    endif()
    leat_draw_test(is_drawn "${unit}" ${folder} ${labels})
    if(NOT is_drawn OR (LEAT_SANITIZE STREQUAL "thread" AND NOT "threads" IN_LIST labels))
      continue()
    endif()
    list(APPEND compiled "${source}")
    list(PREPEND labels "${place}")
    list(JOIN labels "," labels) # as one text, since Catch's script would split a list; ctest -L searches in it
    set(group "${place} ${timeout} ${labels}")
    list(APPEND groups "${group}")
    list(APPEND "tags ${group}" "[#${tag}]~[.]") # without hidden tests, which other tests start
  endforeach()
  if(NOT compiled)
    return()
  endif()

  add_executable(${program} ${compiled} ${arg_HELPERS})
  leat_unity(${program} BATCH 8)
  if(TARGET leat_test_headers)
    target_precompile_headers(${program} REUSE_FROM leat_test_headers)
  endif()
  target_link_libraries(${program} PRIVATE leat_test_support ${arg_LINKS} leat_warnings)
  if(arg_NEEDS)
    add_dependencies(${program} ${arg_NEEDS})
  endif()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    string(REPLACE " " ";" parts "${group}")
    list(GET parts 0 place)
    list(GET parts 1 timeout)
    list(GET parts 2 labels)
    list(JOIN "tags ${group}" "," tags)
    # The tags are one argument: given a list, Catch2 3.7 lists all tests. They come from support/catch_main.cpp.
    catch_discover_tests(${program} TEST_SPEC "${tags}" TEST_PREFIX "${place}/" DISCOVERY_MODE PRE_TEST
      PROPERTIES TIMEOUT ${timeout} COST ${timeout} LABELS "${labels}")
  endforeach()
  if("${groups}" MATCHES "threads")
    add_dependencies(thread_tests ${program})
  endif()
endfunction()

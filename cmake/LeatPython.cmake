# The Python for which the package is built, and nanobind, which is installed in it.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE has_no_nanobind ERROR_QUIET)
if(has_no_nanobind)
  message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind. Needed: '${Python_EXECUTABLE} -m pip install nanobind numpy', "
    "or another Python (-DPython_EXECUTABLE=...), or a build without the package (-DLEAT_PYTHON=OFF)")
endif()
find_package(nanobind CONFIG REQUIRED)

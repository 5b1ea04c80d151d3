# pip, which builds wheels, knows nothing of the distribution's packages, so this reports what is missing and how to get it.
execute_process(COMMAND "${PROJECT_SOURCE_DIR}/cmake/packages.sh" missing
  OUTPUT_VARIABLE missing OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(missing)
  message(FATAL_ERROR "leat is built from packages of Debian or Ubuntu that are missing here. Run 'cmake/packages.sh' "
    "in leat's folder, or:\n  apt-get install --no-install-recommends ${missing}\n")
endif()

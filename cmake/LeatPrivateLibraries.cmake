# LEAT_PRIVATE_LIBRARIES: the libraries that leat uses become a part of libleat, where no other library of the program sees or
# replaces them. They are archives that from_sources/build makes from Debian's own archives, or from its sources.
# Include this before the find_package calls, which then find these; call leat_private_targets() after them, and
# leat_hide_libraries(<target>) for everything that contains them.

if(LEAT_PRIVATE_LIBRARIES AND LEAT_SANITIZE)
  message(FATAL_ERROR "LEAT_PRIVATE_LIBRARIES and LEAT_SANITIZE exclude each other: sanitizers watch the installed libraries")
endif()

if(LEAT_PRIVATE_LIBRARIES)
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/cmake/from_sources/build" private "${CMAKE_CXX_COMPILER}"
    OUTPUT_VARIABLE private_libraries OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(CAF_CORE_LIBRARY "${private_libraries}/libcaf_core.a")
  set(CAF_IO_LIBRARY "${private_libraries}/libcaf_io.a")
  set(Protobuf_LITE_LIBRARY_RELEASE "${private_libraries}/libprotobuf-lite.a")
  set(JPEG_LIBRARY_RELEASE "${private_libraries}/libjpeg.a")
  set(PNG_LIBRARY_RELEASE "${private_libraries}/libpng16.a")
  set(WEBP_LIBRARY "${private_libraries}/libwebp.a")
  set(XXHASH_LIBRARY "${private_libraries}/libxxhash.a")
  set(ZLIB_LIBRARY_RELEASE "${private_libraries}/libz.a")
  set(OPENSSL_SSL_LIBRARY "${private_libraries}/libssl.a")
  set(OPENSSL_CRYPTO_LIBRARY "${private_libraries}/libcrypto.a")
  set(CURL_NO_CURL_CMAKE ON)
  set(CURL_LIBRARY_RELEASE "${private_libraries}/libcurl.a")
  set(ZSTD_LIBRARY "${private_libraries}/libzstd.a")
  set(UTF8PROC_LIBRARY "${private_libraries}/libutf8proc.a")
  add_compile_options(-ffunction-sections -fdata-sections) # so that the linker can drop unused ones
endif()

# Highway, simdjson and pugixml are found through their own package files, which name the shared libraries.
function(leat_private_targets)
  if(NOT LEAT_PRIVATE_LIBRARIES)
    return()
  endif()
  foreach(library hwy simdjson)
    get_target_property(configurations ${library}::${library} IMPORTED_CONFIGURATIONS)
    foreach(configuration IN LISTS configurations)
      set_property(TARGET ${library}::${library} PROPERTY IMPORTED_LOCATION_${configuration} "${private_libraries}/lib${library}.a")
    endforeach()
  endforeach()
  set_property(TARGET pugixml::pugixml PROPERTY INTERFACE_LINK_LIBRARIES "${private_libraries}/libpugixml.a")
endfunction()

function(leat_hide_libraries target)
  if(LEAT_PRIVATE_LIBRARIES) # -z text: an archive that is not position-independent is an error
    target_link_options(${target} PRIVATE LINKER:--exclude-libs,ALL LINKER:-Bsymbolic LINKER:--gc-sections LINKER:-z,text)
  endif()
endfunction()

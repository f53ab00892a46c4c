# SPDX-License-Identifier: Apache-2.0
#
# Stands where the vendor's kernel compiler would be: the build files of the official programs include it. Kernel
# sources given to it are not read; our own kernels of the same names take their place, built beside this file.

set(official_programs_here ${CMAKE_CURRENT_LIST_DIR})

function(official_programs_check_sources)
  foreach(source ${ARGN})
    get_filename_component(name ${source} NAME_WE)
    if(NOT name MATCHES "^(easy_OP|long_OP|short_OP|error_OP|write_read_value|kernel_print|kernel_add|vector_add_kernel|add_custom|add_custom_tiling)$")
      message(FATAL_ERROR "no kernel of ours stands in for ${source}")
    endif()
  endforeach()
endfunction()

# Host functions that launch kernels, whatever kind of library was asked for.
function(ascendc_library target kind)
  official_programs_check_sources(${ARGN})
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE
    ${official_programs_here}/libwrappers.a ${ASCEND_CANN_PACKAGE_PATH}/lib64/libascendcl.so)
endfunction()

# A kernel binary that the program loads from a file.
function(ascendc_fatbin_library target)
  official_programs_check_sources(${ARGN})
  if(NOT ARGN)
    message(FATAL_ERROR "${target} has no sources")
  endif()
  set(binary kernels.so)
  if(ARGN MATCHES "tiling")
    set(binary kernels_tiling.so)
  endif()
  install(FILES ${official_programs_here}/${binary} DESTINATION fatbin/${target} RENAME ${target}.o)
endfunction()

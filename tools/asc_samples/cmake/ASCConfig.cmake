# SPDX-License-Identifier: Apache-2.0
# What `find_package(ASC)` of a sample finds: the language ASC, whose compiler is asc_compiler.py.
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
set(ASC_FOUND TRUE)

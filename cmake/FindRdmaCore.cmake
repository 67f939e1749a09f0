# SPDX-License-Identifier: Apache-2.0 OR MIT
# rdma-core ships no CMake package. find_package(RdmaCore COMPONENTS ibverbs rdmacm) makes the imported targets
# rdma::ibverbs and rdma::rdmacm. RdmaCore_VERSION is rdma-core's own number (44.0) where its pkg-config file is found.
include(FindPackageHandleStandardArgs)

if(NOT RdmaCore_FIND_COMPONENTS)
  set(RdmaCore_FIND_COMPONENTS ibverbs)
endif()

find_path(RdmaCore_INCLUDE_DIR infiniband/verbs.h)
find_library(RdmaCore_ibverbs_LIBRARY ibverbs)
find_library(RdmaCore_rdmacm_LIBRARY rdmacm)
find_path(RdmaCore_rdmacm_INCLUDE_DIR rdma/rdma_cma.h)
mark_as_advanced(RdmaCore_INCLUDE_DIR RdmaCore_ibverbs_LIBRARY RdmaCore_rdmacm_LIBRARY RdmaCore_rdmacm_INCLUDE_DIR)

if(RdmaCore_INCLUDE_DIR AND RdmaCore_ibverbs_LIBRARY)
  set(RdmaCore_ibverbs_FOUND TRUE)
  get_filename_component(folder "${RdmaCore_ibverbs_LIBRARY}" DIRECTORY)
  if(EXISTS "${folder}/pkgconfig/libibverbs.pc")
    # libibverbs counts 1.14.44.0, where 44.0 is rdma-core's.
    file(STRINGS "${folder}/pkgconfig/libibverbs.pc" version_line REGEX "^Version: ")
    string(REGEX REPLACE "^Version: [0-9]+\\.[0-9]+\\." "" RdmaCore_VERSION "${version_line}")
  endif()
  if(NOT TARGET rdma::ibverbs)
    add_library(rdma::ibverbs UNKNOWN IMPORTED)
    set_target_properties(rdma::ibverbs PROPERTIES
      IMPORTED_LOCATION "${RdmaCore_ibverbs_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${RdmaCore_INCLUDE_DIR}")
  endif()
endif()

if(RdmaCore_rdmacm_INCLUDE_DIR AND RdmaCore_rdmacm_LIBRARY AND RdmaCore_ibverbs_FOUND)
  set(RdmaCore_rdmacm_FOUND TRUE)
  if(NOT TARGET rdma::rdmacm)
    add_library(rdma::rdmacm UNKNOWN IMPORTED)
    set_target_properties(rdma::rdmacm PROPERTIES
      IMPORTED_LOCATION "${RdmaCore_rdmacm_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${RdmaCore_rdmacm_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES rdma::ibverbs)
  endif()
endif()

find_package_handle_standard_args(RdmaCore
  REQUIRED_VARS RdmaCore_ibverbs_LIBRARY RdmaCore_INCLUDE_DIR
  VERSION_VAR RdmaCore_VERSION
  HANDLE_COMPONENTS)

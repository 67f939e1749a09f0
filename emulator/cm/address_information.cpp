// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cm/address_information.hpp"

#include <netdb.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace verbena::emulator::cm {

namespace {

/// From malloc, since a program may free it by librdmacm's own rdma_freeaddrinfo.
bool copy(sockaddr*& to, socklen_t& to_length, const sockaddr* from, socklen_t length) {
  to = static_cast<sockaddr*>(std::malloc(length));
  if (to == nullptr) return false;
  std::memcpy(to, from, length);
  to_length = length;
  return true;
}

addrinfo question(const rdma_addrinfo& hints) {
  addrinfo asked{};
  if ((hints.ai_flags & RAI_PASSIVE) != 0) asked.ai_flags |= AI_PASSIVE;
  if ((hints.ai_flags & RAI_NUMERICHOST) != 0) asked.ai_flags |= AI_NUMERICHOST;
  asked.ai_family = hints.ai_family;
  if (hints.ai_qp_type == IBV_QPT_RC || hints.ai_qp_type == IBV_QPT_UC) asked.ai_socktype = SOCK_STREAM;
  if (hints.ai_qp_type == IBV_QPT_UD) asked.ai_socktype = SOCK_DGRAM;
  const bool datagrams = hints.ai_port_space == RDMA_PS_UDP || hints.ai_port_space == RDMA_PS_IPOIB;
  if (hints.ai_port_space == RDMA_PS_TCP) asked.ai_protocol = IPPROTO_TCP;
  if (datagrams) asked.ai_protocol = IPPROTO_UDP;
  return asked;
}

/// The first that getaddrinfo knows.
int look_up(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo& found) {
  const addrinfo asked = hints != nullptr ? question(*hints) : addrinfo{};
  addrinfo* answers = nullptr;
  if (getaddrinfo(node, service, hints != nullptr ? &asked : nullptr, &answers) != 0) return EADDRNOTAVAIL;
  const addrinfo& first = *answers;
  const bool passive = (asked.ai_flags & AI_PASSIVE) != 0;
  found.ai_qp_type = hints != nullptr && hints->ai_qp_type != 0 ? hints->ai_qp_type
                     : first.ai_socktype == SOCK_DGRAM          ? IBV_QPT_UD
                                                                : IBV_QPT_RC;
  found.ai_port_space = hints != nullptr && hints->ai_port_space != 0 ? hints->ai_port_space
                        : first.ai_protocol == IPPROTO_UDP            ? RDMA_PS_UDP
                                                                      : RDMA_PS_TCP;
  found.ai_family = first.ai_family;
  if (passive) found.ai_flags = RAI_PASSIVE;
  const bool copied = passive ? copy(found.ai_src_addr, found.ai_src_len, first.ai_addr, first.ai_addrlen)
                              : copy(found.ai_dst_addr, found.ai_dst_len, first.ai_addr, first.ai_addrlen);
  freeaddrinfo(answers);
  return copied ? 0 : ENOMEM;
}

}  // namespace

int address_information(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo** result) {
  if (result == nullptr || (node == nullptr && service == nullptr && hints == nullptr)) return EINVAL;
  auto* const found = static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo)));
  if (found == nullptr) return ENOMEM;
  int error = 0;
  if (node != nullptr || service != nullptr) {
    error = look_up(node, service, hints, *found);
  } else {
    found->ai_flags = hints->ai_flags;
    found->ai_family = hints->ai_family;
    found->ai_qp_type = hints->ai_qp_type;
    found->ai_port_space = hints->ai_port_space;
    if (hints->ai_dst_len != 0 && !copy(found->ai_dst_addr, found->ai_dst_len, hints->ai_dst_addr, hints->ai_dst_len)) {
      error = ENOMEM;
    }
  }
  if (error == 0 && found->ai_src_len == 0 && hints != nullptr && hints->ai_src_len != 0 &&
      !copy(found->ai_src_addr, found->ai_src_len, hints->ai_src_addr, hints->ai_src_len)) {
    error = ENOMEM;
  }
  if (error != 0) {
    free_address_information(found);
    return error;
  }
  *result = found;
  return 0;
}

void free_address_information(rdma_addrinfo* result) noexcept {
  while (result != nullptr) {
    rdma_addrinfo* const gone = result;
    result = result->ai_next;
    std::free(gone->ai_connect);
    std::free(gone->ai_route);
    std::free(gone->ai_src_canonname);
    std::free(gone->ai_dst_canonname);
    std::free(gone->ai_src_addr);
    std::free(gone->ai_dst_addr);
    std::free(gone);
  }
}

}  // namespace verbena::emulator::cm

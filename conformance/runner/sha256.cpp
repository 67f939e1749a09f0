// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/sha256.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace conform {

std::string sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), sum.data(), &length, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("OpenSSL has no SHA-256");
  std::string out;
  out.reserve(std::size_t{2} * length);
  for (unsigned at = 0; at < length; ++at) out += fmt::format("{:02x}", sum[at]);
  return out;
}

}  // namespace conform

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/host_facts.hpp"

#include <array>
#include <string_view>

namespace verbena {
namespace {

std::string text_of(Verbs& verbs, const char* path) {
  std::string text;
  return verbs.read_file(path, text) == 0 ? text : std::string();
}

/// `libibverbs.so.1.14.44.0` belongs to rdma-core 44.0: soname, library, then the package's own two numbers
/// (rdma-core CMakeLists.txt, PACKAGE_VERSION and IBVERBS_PABI_VERSION).
std::string rdma_core_version(std::string_view path) {
  const auto so = path.rfind(".so.");
  if (so == std::string_view::npos) return {};
  std::string_view numbers = path.substr(so + 4);
  for (int skip = 0; skip < 2; ++skip) {
    const auto dot = numbers.find('.');
    if (dot == std::string_view::npos) return {};
    numbers.remove_prefix(dot + 1);
  }
  return std::string(numbers);
}

bool cpu_says_hypervisor(Verbs& verbs) {
  const std::string cpuinfo = text_of(verbs, "/proc/cpuinfo");
  const auto flags = cpuinfo.find("flags");
  if (flags == std::string::npos) return false;
  const auto line = cpuinfo.substr(flags, cpuinfo.find('\n', flags) - flags) + " ";
  return line.find(" hypervisor ") != std::string::npos;
}

std::string hypervisor(Verbs& verbs, bool x86) {
  if (std::string type = text_of(verbs, "/sys/hypervisor/type"); !type.empty()) return type;
  struct Vendor {
    std::string_view dmi, word;
  };
  static constexpr std::array kVendors = {Vendor{"QEMU", "qemu"},
                                          Vendor{"KVM", "kvm"},
                                          Vendor{"VMware", "vmware"},
                                          Vendor{"Microsoft", "hyperv"},
                                          Vendor{"Xen", "xen"},
                                          Vendor{"Amazon EC2", "amazon"},
                                          Vendor{"Google", "google"},
                                          Vendor{"Alibaba", "alibaba"},
                                          Vendor{"OpenStack", "openstack"},
                                          Vendor{"VirtualBox", "virtualbox"}};
  // Makers of hypervisors make bare machines too, so on x86 the processor's own word is needed as well.
  if (x86 && !cpu_says_hypervisor(verbs)) return {};
  const std::string dmi =
      text_of(verbs, "/sys/class/dmi/id/sys_vendor") + " " + text_of(verbs, "/sys/class/dmi/id/product_name");
  for (const Vendor& vendor : kVendors) {
    if (dmi.find(vendor.dmi) != std::string::npos) return std::string(vendor.word);
  }
  return x86 ? "other" : "";
}

}  // namespace

HostFacts read_host_facts(Verbs& verbs) {
  const HostName name = verbs.host_name();
  HostFacts facts;
  facts.kernel = name.release;
  facts.arch = name.machine;
  facts.rdma_core = rdma_core_version(verbs.libibverbs_path());
  facts.page_size = verbs.page_size();
  facts.hypervisor = hypervisor(verbs, facts.arch == "x86_64" || facts.arch.starts_with("i"));
  return facts;
}

}  // namespace verbena

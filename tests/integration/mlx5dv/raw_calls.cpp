// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "raw_calls.hpp"

#include <cerrno>

#include <dlfcn.h>
#include <fmt/format.h>
#include <infiniband/mlx5dv.h>

#include "verbena/errno_family.hpp"

namespace mlx5dv_paths {
namespace {

constexpr const char* kLibraryItself = "the user-space driver";
constexpr const char* kVendorFlags = "the copy of process_vendor_flags";

template <class Function>
Function function_of(const char* name) {
  void* const library = ::dlopen("libmlx5.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library, name));
}

struct Functions {
  decltype(&mlx5dv_query_device) query_device = function_of<decltype(&mlx5dv_query_device)>("mlx5dv_query_device");
  decltype(&mlx5dv_create_cq) create_cq = function_of<decltype(&mlx5dv_create_cq)>("mlx5dv_create_cq");
  decltype(&mlx5dv_create_qp) create_qp = function_of<decltype(&mlx5dv_create_qp)>("mlx5dv_create_qp");
  decltype(&mlx5dv_create_mkey) create_mkey = function_of<decltype(&mlx5dv_create_mkey)>("mlx5dv_create_mkey");
  decltype(&mlx5dv_destroy_mkey) destroy_mkey = function_of<decltype(&mlx5dv_destroy_mkey)>("mlx5dv_destroy_mkey");
  bool all() const noexcept {
    return query_device != nullptr && create_cq != nullptr && create_qp != nullptr && create_mkey != nullptr &&
           destroy_mkey != nullptr;
  }
};

/// What a call must end with: granted, and then what the record shows; or refused with an errno by somebody.
struct Ending {
  int error = 0;
  std::string by;     ///< of a refusal
  std::string shows;  ///< of a grant: the end of the kernel driver's line
};
Ending granted(std::string shows) {
  return {0, {}, std::move(shows)};
}
Ending refused(int error, std::string by) {
  return {error, std::move(by), {}};
}

class RawCalls {
public:
  RawCalls(std::string device, ibv_context* context, Checks& checks)
      : device_(std::move(device)), context_(context), checks_(checks) {}
  ~RawCalls() {
    if (cq_ != nullptr) ibv_destroy_cq(cq_);
    if (pd_ != nullptr) ibv_dealloc_pd(pd_);
  }
  RawCalls(const RawCalls&) = delete;
  RawCalls& operator=(const RawCalls&) = delete;

  bool start() {
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 16, nullptr, nullptr, 0);
    return checks_.that(mlx5dv_.all() && pd_ != nullptr && cq_ != nullptr,
                        device_ + ": libmlx5 has its calls, and makes a PD and a CQ");
  }
  void query();
  void cqs();
  void qps();
  void keys(bool devx);

private:
  void ends(const std::string& call, const char* verb, bool made, const Ending& ending);
  void cq(const std::string& what, std::uint64_t mask, std::uint8_t format, std::uint32_t flags, std::uint16_t size,
          const Ending& ending);
  void qp(const std::string& what, ibv_qp_type type, std::uint32_t flags, const Ending& ending);
  void key(const std::string& what, std::uint32_t flags, std::uint16_t entries, const Ending& ending);
  void begin() {
    checks_.record().empty();
    errno = 0;
  }

  std::string device_;
  ibv_context* context_;
  Checks& checks_;
  Functions mlx5dv_;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
};

/// To be called at once after the call, while errno is its.
void RawCalls::ends(const std::string& call, const char* verb, bool made, const Ending& ending) {
  const int error = made ? 0 : errno;
  const std::string line = checks_.record().newest(verb);
  const std::string by = made ? std::string() : checks_.record().who_refused();
  const std::string found = made ? fmt::format("granted{}", line.empty() ? "" : ", " + line.substr(line.find(verb)))
                                 : fmt::format("refused {} by {}", verbena::errno_name(error), by);
  const bool holds =
      made ? ending.error == 0 && line.ends_with(ending.shows) : error == ending.error && by == ending.by;
  checks_.that(holds, fmt::format("{}: {}: {}", device_, call, found));
  if (!holds && ending.error == 0) std::printf("  expected: granted, %s\n", ending.shows.c_str());
  if (!holds && ending.error != 0)
    std::printf("  expected: refused %s by %s\n", std::string(verbena::errno_name(ending.error)).c_str(),
                ending.by.c_str());
}

void RawCalls::query() {
  mlx5dv_context told{};
  told.comp_mask = (MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD << 1U) - 1U;  // all that 44.0 knows
  const int error = mlx5dv_.query_device(context_, &told);
  checks_.that(
      error == 0 && (told.flags & MLX5DV_CONTEXT_FLAGS_CQE_V1) != 0 && told.cqe_comp_caps.max_num == 64 &&
          (told.comp_mask & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS) == 0,
      fmt::format("{}: mlx5dv_query_device: flags {:#x}, answered {:#x}, {} CQEs compressed into one by formats "
                  "{:#x}, {} doorbells for thread domains",
                  device_, told.flags, told.comp_mask, told.cqe_comp_caps.max_num, told.cqe_comp_caps.supported_format,
                  told.max_dynamic_bfregs));
}

void RawCalls::cq(const std::string& what, std::uint64_t mask, std::uint8_t format, std::uint32_t flags,
                  std::uint16_t size, const Ending& ending) {
  ibv_cq_init_attr_ex plain{};
  plain.cqe = 100;
  plain.wc_flags = IBV_WC_STANDARD_FLAGS;
  mlx5dv_cq_init_attr vendor{};
  vendor.comp_mask = mask;
  vendor.cqe_comp_res_format = format;
  vendor.flags = flags;
  vendor.cqe_size = size;
  begin();
  ibv_cq_ex* const made = mlx5dv_.create_cq(context_, &plain, &vendor);
  ends("mlx5dv_create_cq, " + what, "create_cq", made != nullptr, ending);
  if (made != nullptr) ibv_destroy_cq(ibv_cq_ex_to_cq(made));
}

void RawCalls::cqs() {
  constexpr std::uint64_t size = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE, flags = MLX5DV_CQ_INIT_ATTR_MASK_FLAGS,
                          compressed = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE;
  constexpr std::uint32_t pad = MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD;
  cq("nothing special", 0, 0, 0, 0, granted(", CQEs of 64 bytes, compressed 0, driver flags 0x0"));
  cq("CQEs of 128 bytes", size, 0, 0, 128, granted(", CQEs of 128 bytes, compressed 0, driver flags 0x0"));
  cq("CQEs of 96 bytes", size, 0, 0, 96, refused(EINVAL, kLibraryItself));
  cq("compressed by hash", compressed, MLX5DV_CQE_RES_FORMAT_HASH, 0, 0,
     granted(", CQEs of 64 bytes, compressed 1, driver flags 0x0"));
  cq("compressed by checksum, CQEs of 128 bytes", compressed | size, MLX5DV_CQE_RES_FORMAT_CSUM, 0, 128,
     granted(", CQEs of 128 bytes, compressed 1, driver flags 0x0"));
  cq("compressed by a format that the device has not", compressed, MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX, 0, 0,
     refused(EINVAL, kLibraryItself));
  cq("padded, CQEs of 128 bytes", flags | size, 0, pad, 128,
     granted(", CQEs of 128 bytes, compressed 0, driver flags 0x1"));
  cq("padded, CQEs of 64 bytes", flags | size, 0, pad, 64, refused(EINVAL, kLibraryItself));
}

void RawCalls::qp(const std::string& what, ibv_qp_type type, std::uint32_t flags, const Ending& ending) {
  ibv_qp_init_attr_ex plain{};
  plain.send_cq = plain.recv_cq = cq_;
  plain.cap = {16, 16, 1, 1, 0};
  plain.qp_type = type;
  plain.comp_mask = IBV_QP_INIT_ATTR_PD;
  plain.pd = pd_;
  mlx5dv_qp_init_attr vendor{};
  if (flags != 0) vendor.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
  vendor.create_flags = flags;
  begin();
  ibv_qp* const made = mlx5dv_.create_qp(context_, &plain, &vendor);
  ends("mlx5dv_create_qp, " + what, "create_qp", made != nullptr, ending);
  if (made != nullptr) ibv_destroy_qp(made);
}

void RawCalls::qps() {
  constexpr std::uint32_t off = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE, on = MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE,
                          credits = MLX5DV_QP_CREATE_PACKET_BASED_CREDIT_MODE;
  // The kernel's flags: 0x2 scatter to CQE, 0x100 for READs and atomics too, 0x200 credits by packet.
  qp("RC, no flag", IBV_QPT_RC, 0, granted(", driver flags 0x2"));
  qp("RC, scatter to CQE off", IBV_QPT_RC, off, granted(", driver flags 0x0"));
  qp("RC, scatter to CQE for READs too", IBV_QPT_RC, on, granted(", driver flags 0x102"));
  qp("RC, scatter to CQE on and off", IBV_QPT_RC, on | off, refused(EINVAL, kLibraryItself));
  qp("UC, scatter to CQE off", IBV_QPT_UC, off, granted(", driver flags 0x0"));
  qp("UD, scatter to CQE off", IBV_QPT_UD, off, granted(", driver flags 0x0"));
  qp("RC, credits by packet", IBV_QPT_RC, credits, granted(", driver flags 0x202"));
  qp("UD, credits by packet", IBV_QPT_UD, credits, refused(EINVAL, kVendorFlags));
  qp("RC, tunnel offloads", IBV_QPT_RC, MLX5DV_QP_CREATE_TUNNEL_OFFLOADS, refused(EINVAL, kVendorFlags));
  qp("RC, signature pipelining", IBV_QPT_RC, MLX5DV_QP_CREATE_SIG_PIPELINING, refused(EOPNOTSUPP, kLibraryItself));
}

void RawCalls::key(const std::string& what, std::uint32_t flags, std::uint16_t entries, const Ending& ending) {
  mlx5dv_mkey_init_attr attr{};
  attr.pd = pd_;
  attr.create_flags = flags;
  attr.max_entries = entries;
  begin();
  mlx5dv_mkey* const made = mlx5dv_.create_mkey(&attr);
  ends("mlx5dv_create_mkey, " + what, "devx_obj_create", made != nullptr, ending);
  if (made == nullptr) return;
  checks_.that(attr.max_entries >= entries && made->lkey != 0 && made->lkey == made->rkey,
               fmt::format("{}: the key {:#x} has room for {} entries", device_, made->lkey, attr.max_entries));
  checks_.that(mlx5dv_.destroy_mkey(made) == 0 && !checks_.record().newest("devx_obj_destroy").empty(),
               device_ + ": it is destroyed, in the kernel too");
}

void RawCalls::keys(bool devx) {
  const Ending ending = devx ? granted(", 8 entries") : refused(EINVAL, "the copy of devx_get_uid");
  key("indirect, 5 entries", MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT, 5, ending);
  key("no flag", 0, 5, refused(EOPNOTSUPP, kLibraryItself));
  key("encrypting", MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO, 5,
      refused(EOPNOTSUPP, kLibraryItself));
}

ibv_context* open_device(const std::string& name) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count; ++i)
    if (name == ibv_get_device_name(list[i])) context = ibv_open_device(list[i]);
  if (list != nullptr) ibv_free_device_list(list);
  return context;
}

}  // namespace

void try_raw_calls(const std::string& device, const Expected& expected, Checks& checks) {
  ibv_context* const context = open_device(device);
  if (!checks.that(context != nullptr, device + " is opened by libibverbs")) return;
  {
    RawCalls calls(device, context, checks);
    if (calls.start()) {
      calls.query();
      calls.cqs();
      calls.qps();
      calls.keys(expected.devx);
    }
  }
  ibv_close_device(context);
}

}  // namespace mlx5dv_paths

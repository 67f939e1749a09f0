// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>

#include "peer/far_memory.hpp"
#include "peer/pace.hpp"
#include "peer/protocol.hpp"
#include "verbena/verbs.hpp"

namespace conform::peer {

/// Objects of one kind by the numbers that a client knows them by. Numbers are given once, over all kinds.
template <class T>
class Table {
public:
  std::uint32_t add(T* object, std::uint32_t id) {
    objects_[id] = object;
    ids_[object] = id;
    return id;
  }
  /// Null for 0 and for a number that is none.
  T* at(std::uint32_t id) const {
    const auto found = objects_.find(id);
    return found != objects_.end() ? found->second : nullptr;
  }
  std::uint32_t id(T* object) const {
    const auto found = ids_.find(object);
    return found != ids_.end() ? found->second : 0;
  }
  void remove(std::uint32_t id) {
    const auto found = objects_.find(id);
    if (found == objects_.end()) return;
    ids_.erase(found->second);
    objects_.erase(found);
  }

private:
  std::map<std::uint32_t, T*> objects_;
  std::map<T*, std::uint32_t> ids_;
};

/// Answers the questions of one connection, on a table of verbs. What a client names that isn't there is EINVAL; files
/// beside those that tell of devices are EACCES.
class Answers {
public:
  explicit Answers(verbena::Verbs& verbs) : verbs_(verbs), memory_(verbs.page_size()) {}

  /// The answer to one question; nothing for one that can't be read.
  std::optional<Packet> answer(Packet question);

private:
  /// What follows the errno; the errno itself is the function's result.
  int devices(Call call, Packet& in, Packet& out);
  int domains(Call call, Packet& in, Packet& out);
  int queues(Call call, Packet& in, Packet& out);
  int queue_pairs(Call call, Packet& in, Packet& out);
  int data_path(Call call, Packet& in, Packet& out);
  int host(Call call, Packet& in, Packet& out);

  int list_devices(Packet& out);
  int async_event(Packet& in, Packet& out);
  int ack_async_event(Packet& in);
  int post_send(Packet& in, Packet& out);
  int post_recv(Call call, Packet& in, Packet& out);
  int polled_ex(int error, ibv_cq* cq, Packet& out);
  int create_cq_ex(Packet& in, Packet& out);
  int create_qp(Call call, Packet& in, Packet& out);

  /// Puts what a creation gave: whether errno was set, and the object's new number.
  template <class T>
  int made(const verbena::Made<T>& made, Table<T>& table, Packet& out) {
    out.put(made.errno_missing);
    if (!made) return made.error != 0 ? made.error : EINVAL;
    out.put(table.add(made.handle, next_++));
    return 0;
  }
  /// Runs `destroy` on the object, and forgets it where that succeeds.
  template <class T, class Destroy>
  int destroyed(Packet& in, Table<T>& table, Destroy destroy) {
    const auto id = in.get<std::uint32_t>();
    T* object = table.at(id);
    if (object == nullptr) return EINVAL;
    const int error = destroy(object);
    if (error == 0) table.remove(id);
    return error;
  }
  template <class T>
  T* taken(Packet& in, const Table<T>& table) {
    return table.at(in.get<std::uint32_t>());
  }

  verbena::Verbs& verbs_;
  FarMemory memory_;
  Pace pace_;             // of looking at memory while nothing comes
  bool nothing_ = false;  // the question was whether something had come, and nothing had
  std::uint32_t next_ = 1;
  Table<ibv_device> devices_;
  Table<ibv_context> contexts_;
  Table<ibv_pd> pds_;
  Table<ibv_td> tds_;
  Table<ibv_mr> mrs_;
  Table<ibv_mw> mws_;
  Table<ibv_comp_channel> channels_;
  Table<ibv_cq> cqs_;
  Table<ibv_srq> srqs_;
  Table<ibv_qp> qps_;
  Table<ibv_ah> ahs_;
  std::map<std::uint32_t, std::uint64_t> wc_flags_;  // of extended completion queues
};

}  // namespace conform::peer

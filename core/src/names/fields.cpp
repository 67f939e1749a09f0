// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/fields.hpp"

#include <array>

#include "names/word_table.hpp"

namespace verbena {
namespace {

constexpr names::WordTable<10> kObjects{"device", "port", "pd", "cq", "qp", "srq", "mr", "mw", "ah", "data"};
static_assert(kObjects.size() == static_cast<std::size_t>(Object::data) + 1);

constexpr names::WordTable<9> kUnits{"count",    "work_requests", "entries", "sges",        "bytes",
                                     "messages", "timer_code",    "retries", "microseconds"};
static_assert(kUnits.size() == static_cast<std::size_t>(Unit::microseconds) + 1);

constexpr std::array<FieldInfo, kFieldCount> kFields{{
    {Field::max_send_wr, "max_send_wr", Object::qp, Unit::work_requests, "depth of the send queue"},
    {Field::max_recv_wr, "max_recv_wr", Object::qp, Unit::work_requests, "depth of the receive queue"},
    {Field::max_send_sge, "max_send_sge", Object::qp, Unit::sges, "scatter/gather elements of one send work request"},
    {Field::max_recv_sge, "max_recv_sge", Object::qp, Unit::sges,
     "scatter/gather elements of one receive work request"},
    {Field::max_inline_data, "max_inline_data", Object::qp, Unit::bytes,
     "bytes that a send work request can carry in itself"},
    {Field::max_rd_atomic, "max_rd_atomic", Object::qp, Unit::messages,
     "RDMA READs and atomics that the QP may have outstanding as initiator"},
    {Field::max_dest_rd_atomic, "max_dest_rd_atomic", Object::qp, Unit::messages,
     "RDMA READs and atomics that the QP can serve at once as responder"},
    {Field::timeout, "timeout", Object::qp, Unit::timer_code,
     "local ack timeout code, 4.096 us x 2^code; 0 waits for ever"},
    {Field::retry_cnt, "retry_cnt", Object::qp, Unit::retries, "resends after a timeout before the QP fails"},
    {Field::rnr_retry, "rnr_retry", Object::qp, Unit::retries,
     "resends after a receiver-not-ready before the QP fails; 7 is without end"},
    {Field::min_rnr_timer, "min_rnr_timer", Object::qp, Unit::timer_code,
     "how long the peer waits after a receiver-not-ready"},
    {Field::path_mtu_bytes, "path_mtu_bytes", Object::qp, Unit::bytes, "payload bytes of one packet, 256 to 4096"},
    {Field::cqe, "cqe", Object::cq, Unit::entries, "entries of a completion queue"},
    {Field::cq_count, "cq_count", Object::cq, Unit::count, "completions that one event may stand for"},
    {Field::cq_period, "cq_period", Object::cq, Unit::microseconds, "time that an event may be held back"},
    {Field::max_wr, "max_wr", Object::srq, Unit::work_requests, "depth of a shared receive queue"},
    {Field::max_sge, "max_sge", Object::srq, Unit::sges, "scatter/gather elements of one shared receive work request"},
    {Field::srq_limit, "srq_limit", Object::srq, Unit::work_requests,
     "fill of a shared receive queue below which the limit event is raised"},
    {Field::mr_length, "mr_length", Object::mr, Unit::bytes, "bytes of one memory region"},
    {Field::message_bytes, "message_bytes", Object::data, Unit::bytes, "bytes of one message"},
    {Field::read_sge, "read_sge", Object::data, Unit::sges, "scatter elements of one RDMA READ"},
    {Field::max_qp, "max_qp", Object::device, Unit::count, "queue pairs of the device"},
    {Field::max_cq, "max_cq", Object::device, Unit::count, "completion queues of the device"},
    {Field::max_mr, "max_mr", Object::device, Unit::count, "memory regions of the device"},
    {Field::max_pd, "max_pd", Object::device, Unit::count, "protection domains of the device"},
    {Field::max_srq, "max_srq", Object::device, Unit::count, "shared receive queues of the device"},
    {Field::max_mw, "max_mw", Object::device, Unit::count, "memory windows of the device"},
    {Field::max_ah, "max_ah", Object::device, Unit::count, "address handles of the device"},
    {Field::max_res_rd_atom, "max_res_rd_atom", Object::device, Unit::messages,
     "read/atomic responder resources shared by all QPs of the device"},
    {Field::total_wr, "total_wr", Object::device, Unit::work_requests,
     "work requests of all QPs together, where the device has such a budget"},
}};

constexpr bool fields_in_order() {
  for (std::size_t at = 0; at < kFields.size(); ++at) {
    if (static_cast<std::size_t>(kFields[at].field) != at) return false;
  }
  return true;
}
static_assert(fields_in_order());

}  // namespace

std::span<const FieldInfo> all_fields() noexcept {
  return kFields;
}
const FieldInfo& info(Field field) noexcept {
  return kFields[static_cast<std::size_t>(field)];
}
std::string_view name(Field field) noexcept {
  return info(field).name;
}
std::string_view name(Object object) noexcept {
  return names::word_of(kObjects, object);
}
std::string_view name(Unit unit) noexcept {
  return names::word_of(kUnits, unit);
}

std::optional<Field> find_field(Object object, std::string_view name) noexcept {
  for (const FieldInfo& field : kFields) {
    if (field.object == object && field.name == name) return field.field;
  }
  return std::nullopt;
}

std::optional<Object> find_object(std::string_view name) noexcept {
  return names::find_word<Object>(kObjects, name);
}

}  // namespace verbena

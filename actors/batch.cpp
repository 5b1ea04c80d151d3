#include "actors/lease_desk.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"

#include <leat/batch.hpp>

#include <utility>

namespace leat {

namespace {

/// As DLPack counts.
constexpr std::int32_t cuda_device_type = 2;

/// Calls f with the index of every valid row, in order.
template <class F>
void for_each_valid(const batch_slot& slot, F f) {
  for (std::size_t i = 0; i < slot.num_rows(); ++i)
    if (slot.summary().valid[i])
      f(i);
}

std::size_t find_field(const batch_layout& layout, std::string_view name,
                       const std::string& asked) {
  const auto i = layout.find(name);
  if (i < layout.fields().size())
    return i;
  throw_error(errc::wrong_field, "batch", "\"" + std::string{name} + "\" as " + asked,
              "one of: " + listed(layout.fields(), [](const auto& x) { return to_string(x); }));
}

} // namespace

std::size_t batch::size() const noexcept {
  return slot_->memory().rows();
}

std::size_t batch::valid_rows() const noexcept {
  return slot_->summary().num_valid;
}

std::span<const std::uint8_t> batch::valid() const noexcept {
  return slot_->summary().valid;
}

field_view batch::field(std::string_view name) const {
  return on_host(find_field(slot_->memory().layout(), name, "a field"));
}

field_view batch::on_host(std::size_t field) const {
  if (field < 64 && (slot_->summary().on_device >> field & 1) != 0)
    throw_error(errc::wrong_field, "batch",
                '"' + slot_->memory().layout().fields()[field].name
                    + "\" on the host, while it was decoded on "
                    + slot_->on_device()->calls().name(),
                "device_field(), or the loader option decoder = \"cpu\"");
  return slot_->memory().field(field);
}

field_view batch::checked(std::string_view name, dtype type, std::size_t rank, bool ragged) const {
  const auto asked =
      (ragged ? "ragged " : "") + std::string{to_string(type)} + " of rank " + std::to_string(rank);
  const auto i = find_field(slot_->memory().layout(), name, asked);
  const auto& have = slot_->memory().layout().fields()[i];
  if (have.ragged == ragged && have.type == type && have.dims.rank() + 1 == rank)
    return on_host(i);
  auto needed =
      std::string{to_string(have.type)} + " of rank " + std::to_string(have.dims.rank() + 1);
  if (have.is_bytes())
    needed = "a read of bytes, which the field is";
  else if (have.ragged)
    needed = "ragged " + needed;
  throw_error(errc::wrong_field, "batch", "\"" + std::string{name} + "\" as " + asked,
              std::move(needed));
}

ragged_view batch::ragged(std::string_view field) const {
  const auto i = find_field(slot_->memory().layout(), field, "bytes");
  const auto& have = slot_->memory().layout().fields()[i];
  if (!have.is_bytes())
    throw_error(errc::wrong_field, "batch", "\"" + have.name + "\" as bytes",
                "a read of what the field is: " + to_string(have));
  const auto x = slot_->memory().field(i);
  return {x.bytes(), x.offsets};
}

bool batch::is_on_device(std::string_view name) const noexcept {
  const auto& layout = slot_->memory().layout();
  const auto i = layout.find(name);
  return slot_->on_device() && i < layout.fields().size() && slot_->on_device()->has(i);
}

leat::device_field batch::device_field(std::string_view name) const {
  const auto& to = on_device("device_field");
  const auto i = find_field(slot_->memory().layout(), name, "a field on " + to.calls().name());
  if (!to.has(i))
    throw_error(errc::wrong_field, "batch", "\"" + std::string{name} + "\" on " + to.calls().name(),
                "one of device_fields; without them, a numeric field");
  leat::device_field x{slot_->memory().field(i)};
  x.values.data = to.data(i);
  x.values.where = {cuda_device_type, to.calls().number()};
  if (x.values.is_ragged())
    x.offsets = to.offsets(i);
  return x;
}

device_slot& batch::on_device(const char* call) const {
  if (!slot_->on_device())
    refuse_argument(call, "a batch that is on the host alone",
                    "a loader with a device, as \"cuda\"");
  return *slot_->on_device();
}

std::vector<std::string> batch::fields() const {
  std::vector<std::string> names;
  for (const auto& x : slot_->memory().layout().fields())
    names.push_back(x.name);
  return names;
}

std::uint64_t batch::epoch() const noexcept {
  return slot_->plan().epoch;
}

std::uint64_t batch::step() const noexcept {
  return slot_->plan().step;
}

std::uint64_t batch::global_step() const noexcept {
  return after_->global_step - 1;
}

std::uint64_t batch::rank() const noexcept {
  return desk_->job().rank;
}

std::uint64_t batch::world_size() const noexcept {
  return desk_->job().world_size;
}

bool batch::end_of_epoch() const noexcept {
  return slot_->plan().end_of_epoch;
}

std::vector<std::uint64_t> batch::positions() const {
  std::vector<std::uint64_t> result;
  for_each_valid(*slot_, [&](std::size_t i) { result.push_back(slot_->request(i).position); });
  return result;
}

std::vector<std::string> batch::ids() const {
  std::vector<std::string> result;
  for_each_valid(*slot_, [&](std::size_t i) { result.push_back(desk_->job().id_of(*slot_, i)); });
  return result;
}

hash128 batch::digest() const noexcept {
  return slot_->summary().digest;
}

std::vector<hash128> batch::content_hashes() const {
  std::vector<hash128> result;
  if (desk_->job().plan->hash_pixels)
    for_each_valid(*slot_, [&](std::size_t i) { result.push_back(slot_->result(i).pixels); });
  return result;
}

const std::vector<bad_row>& batch::bad() const noexcept {
  return slot_->summary().bad;
}

std::string batch::snapshot() const {
  return desk_->encoded_at(*after_);
}

void batch::swap(batch& other) noexcept {
  desk_.swap(other.desk_);
  slot_.swap(other.slot_);
  after_.swap(other.after_);
}

lease::lease(lease&& other) noexcept {
  batch_.swap(other.batch_);
}

lease& lease::operator=(lease&& other) noexcept {
  lease taken{std::move(other)};
  batch_.swap(taken.batch_);
  return *this;
}

lease::~lease() {
  reset();
}

device_slot& lease::on_device(const char* call) const {
  if (!batch_.slot_)
    refuse_argument(call, "an empty lease, which has no batch", "one that holds a batch");
  return batch_.on_device(call);
}

void lease::on_device(void* stream) {
  on_device("on_device").make_wait({stream});
}

void lease::used_on(void* stream) {
  on_device("used_on").used_on(device_stream{stream});
}

void lease::on_device_for_all() {
  auto& to = on_device("on_device_for_all");
  to.used_on(std::nullopt);
  to.wait_until_copied();
}

void lease::reset() noexcept {
  batch held;
  held.swap(batch_);
  if (held.slot_)
    held.desk_->give_back(std::move(held.slot_));
}

} // namespace leat

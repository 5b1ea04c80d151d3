#include "runtime/sample/sample_access.hpp"

#include "runtime/sample/field_errors.hpp"
#include "runtime/sample/sample_state.hpp"

#include <cstring>
#include <exception>

namespace leat {

namespace {

/// True for the same kind, type and shape, whatever the names. Allocates nothing: called for each
/// row.
bool has_layout(const sample_field& x, const field_layout& want) {
  if (x.ragged != want.ragged || x.type != want.type)
    return false;
  return x.ragged ? inner_of(x.dims) == want.dims : x.dims == want.dims;
}

void deliver_ragged(const sample_field& x, const ragged_row& row) {
  if (lies_in(row.bytes(), x.data))
    row.resize(x.size); // it may have been shortened there
  else
    row.assign({x.data, x.size});
  row.complete();
}

} // namespace

void sample_access::reset(sample& x, const row_target* target) {
  auto& s = *x.state_;
  s.used = 0;
  s.id.clear();
  s.target = target;
  if (target && target->late)
    target->late->drop_all(*target);
  s.spoiled = nullptr;
  s.stop = nullptr;
  s.blocks = nullptr;
  s.kept.clear();
}

void source_access::keep_alive(sample& x, payload_ptr bytes) {
  x.state_->kept.push_back(std::move(bytes));
}

id_writer& sample_access::id_of(sample& x) noexcept {
  return x.state_->id;
}

void sample_access::append_id(const sample& x, std::string& to) {
  x.state_->id(to);
}

void sample_access::lend(const sample& from, sample& into) {
  for (std::size_t i = 0; i < from.state_->used; ++i) {
    const auto& x = from.state_->fields[i];
    if (into.state_->find(x.name) != nullptr)
      throw bad_sample(cause::wrong_shape,
                       "field \"" + x.name
                           + "\" is in two inputs of a zip: rename it in one (rename@1)");
    lend(x.name, {x.ragged, x.type, x.dims, {x.data, x.size}}, into);
    if (x.places.by)
      source_access::set_places(into, x.name, x.places);
  }
}

sample_access::field_view sample_access::view(const sample& x, std::string_view name) {
  const auto& f = x.state_->get(name);
  return {f.ragged, f.type, f.dims, {f.data, f.size}};
}

void sample_access::lend(std::string_view name, const field_view& from, sample& into) {
  auto& lent = into.state_->put(name);
  lent.ragged = from.ragged;
  lent.type = from.type;
  lent.dims = from.dims;
  lent.data = from.bytes.data();
  lent.size = from.bytes.size();
}

void source_access::set_places(sample& x, std::string_view name, const kept_places& places) {
  const_cast<sample_field&>(x.state_->get(name)).places = places;
}

std::span<const std::byte> source_access::places(const sample& x, std::string_view name,
                                                 place_kind kind) {
  const auto [by, number] = x.state_->get(name).places;
  const auto to = x.state_->place_bytes.first(by ? by->place_bytes(kind, number) : 0);
  return !to.empty() && by->read_places(kind, number, to) ? to : to.first(0);
}

source_access::extent_buffers& source_access::buffers(sample& x) noexcept {
  return x.state_->extents;
}

void sample_access::read_with(sample& x, const std::stop_token& stop,
                              record_blocks* blocks) noexcept {
  x.state_->stop = &stop;
  x.state_->blocks = blocks;
}

record_blocks* source_access::blocks_of(const sample& x) noexcept {
  return x.state_->blocks;
}

const std::stop_token& sample_access::stop_of(const sample& x) noexcept {
  static const std::stop_token never;
  return x.state_->stop ? *x.state_->stop : never;
}

void sample_access::own(sample& x) {
  auto& s = *x.state_;
  for (std::size_t i = 0; i < s.used; ++i) {
    auto& f = s.fields[i];
    if (f.data == f.owned.data() || lies_in(s.scratch.all(), f.data) || f.size == 0 || f.late > 0)
      continue;
    f.owned.assign(f.data, f.data + f.size);
    f.data = f.owned.data();
  }
  s.kept.clear(); // a sample that is kept for long would hold far more than it has
}

std::size_t sample_access::bytes_of_fields(const sample& x) noexcept {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < x.state_->used; ++i)
    bytes += x.state_->fields[i].size;
  return bytes;
}

std::size_t sample_access::memory(const sample& x) noexcept {
  const auto& s = *x.state_;
  auto bytes = s.scratch.all().size() + s.place_bytes.all().size() + s.replaced.capacity()
               + s.fields.capacity() * sizeof(sample_field);
  for (const auto& f : s.fields)
    bytes += f.name.capacity() + f.owned.capacity();
  return bytes;
}

void sample_access::let_vary(sample& x, std::string_view name) {
  auto& f = const_cast<sample_field&>(x.state_->get(name));
  if (f.ragged)
    return;
  if (f.dims.rank() == 0 || inner_of(f.dims).elements() == 0)
    throw bad_sample(cause::wrong_shape, "field is " + to_string(leat::layout_of(f))
                                             + ", a ragged one has elements to count");
  f.ragged = true;
}

void sample_access::keep(sample& x, const std::vector<std::string>& names) {
  auto& s = *x.state_;
  std::size_t kept = 0;
  for (const auto& name : names) {
    auto* found = const_cast<sample_field*>(&s.get_form(name));
    if (found >= s.fields.data() + kept) // a name that occurs twice is kept once
      std::swap(*found, s.fields[kept++]);
  }
  for (auto i = kept; i < s.used; ++i)
    s.drop(s.fields[i]);
  s.used = kept;
}

void source_access::shorten(sample& x, std::string_view name, std::size_t size) {
  const_cast<sample_field&>(x.state_->get(name)).size = size;
}

void sample_access::rename(sample& x, std::string_view from, std::string_view to) {
  auto& s = *x.state_;
  auto& field = const_cast<leat::sample_field&>(s.get(from));
  if (from != to && s.find(to) != nullptr)
    throw bad_sample(cause::wrong_shape, "field \"" + std::string{to} + "\" exists already");
  field.name = to;
  // A row of the batch belongs to the name that it has there.
  if (s.lies_in_batch(field)) {
    field.owned.assign(field.data, field.data + field.size);
    field.data = field.owned.data();
  }
}

void sample_access::deliver(sample& x) {
  auto& s = *x.state_;
  if (s.spoiled)
    std::rethrow_exception(s.spoiled);
  const auto& layout = *s.target->layout;
  for (std::size_t i = 0; i < layout.fields().size(); ++i) {
    const auto& want = layout.fields()[i];
    const auto& have = s.get_form(want.name);
    if (!has_layout(have, want))
      throw bad_sample(cause::wrong_shape, other_layout_text(leat::layout_of(have), want));
    if (want.ragged)
      deliver_ragged(have, s.target->ragged[i]);
    else if (have.data != s.target->dense[i] && have.size > 0)
      std::memcpy(s.target->dense[i], have.data, have.size);
  }
}

std::vector<field_layout> sample_access::fields(const sample& x) {
  std::vector<field_layout> result;
  for (std::size_t i = 0; i < x.state_->used; ++i)
    result.push_back(layout_of(x, x.state_->fields[i].name));
  return result;
}

field_layout sample_access::layout_of(const sample& x, std::string_view name) {
  return leat::layout_of(x.state_->get_form(name));
}

bool source_access::has_late_fields(const sample& x) noexcept {
  return x.state_->target && x.state_->target->late;
}

bool source_access::make_later(sample& x, std::string_view name, const late_image& from) {
  const auto& s = *x.state_;
  const auto& row = *s.target;
  auto& f = const_cast<sample_field&>(s.get_form(name));
  const auto i = std::find(row.dense.begin(), row.dense.end(), f.data) - row.dense.begin();
  const auto number = static_cast<std::size_t>(i);
  if (number >= row.on_device.size() || !row.on_device[number]
      || !row.late->take(row, number, from))
    return false;
  f.late = number + 1;
  return true;
}

std::uint64_t sample_access::take_bytes_read(sample& x) {
  return std::exchange(x.state_->bytes_read, 0);
}

} // namespace leat

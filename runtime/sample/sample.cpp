#include "runtime/sample/field_errors.hpp"
#include "runtime/sample/machine_memory.hpp"
#include "runtime/sample/raw_buffer.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sample/source_access.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace leat {

namespace {

struct field {
  std::string name;
  bool ragged = false;
  dtype type = dtype::u8;
  /// For ragged fields the whole shape; unused for bytes.
  shape dims;
  /// Lies in `owned`, in the batch's row, or in memory that the source lent.
  const std::byte* data = nullptr;
  std::size_t size = 0;
  /// For a JPEG.
  kept_places places;
  std::vector<std::byte> owned;

  bool is_bytes() const noexcept { return ragged && type == dtype::u8 && dims.rank() <= 1; }
  void be_bytes() noexcept {
    ragged = true;
    type = dtype::u8;
    dims = {};
  }
};

/// Shape of one element of a ragged field.
shape inner_of(const shape& dims) {
  shape result;
  for (auto i = dims.rank(); i > 1; --i)
    result = result.behind(dims[i - 1]);
  return result;
}

field_layout layout_of(const field& x) {
  return {x.name, x.ragged, x.type, x.ragged ? inner_of(x.dims) : x.dims};
}

/// True for the same kind, type and shape, whatever the names. Allocates nothing: called for each
/// row.
bool has_layout(const field& x, const field_layout& want) {
  if (x.ragged != want.ragged || x.type != want.type)
    return false;
  return x.ragged ? inner_of(x.dims) == want.dims : x.dims == want.dims;
}

bool lies_in(std::span<const std::byte> buffer, const std::byte* at) {
  return std::less_equal<>{}(buffer.data(), at) && std::less<>{}(at, buffer.data() + buffer.size());
}

void deliver_ragged(const field& x, const ragged_row& row) {
  if (lies_in(row.bytes(), x.data))
    row.resize(x.size); // it may have been shortened there
  else
    row.assign({x.data, x.size});
  row.complete();
}

} // namespace

struct sample::state {
  // Entries from `used` on keep their memory for later samples.
  std::vector<field> fields;
  std::size_t used = 0;
  raw_buffer scratch;
  raw_buffer place_bytes;
  source_access::extent_buffers extents;
  const std::stop_token* stop = nullptr;
  record_blocks* blocks = nullptr;
  /// Bytes of the field that was replaced last.
  std::vector<std::byte> replaced;
  id_writer id;
  const row_target* target = nullptr;
  std::uint64_t bytes_read = 0;
  /// Fields may lie in them.
  std::vector<payload_ptr> kept;

  const field* find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < used; ++i)
      if (fields[i].name == name)
        return &fields[i];
    return nullptr;
  }

  const field& get(std::string_view name) const {
    if (const auto* x = find(name))
      return *x;
    miss(name);
  }

  [[noreturn, gnu::cold]] void miss(std::string_view name) const { // apart: get() is hot
    std::vector<std::string> have;
    for (std::size_t i = 0; i < used; ++i)
      have.push_back(fields[i].name);
    throw bad_sample(cause::missing_field, missing_text(name, have));
  }

  const field& get_tensor(std::string_view name) const {
    const auto& x = get(name);
    if (x.is_bytes())
      throw bad_sample(cause::wrong_shape, "field is " + x.name + " bytes, asked for a tensor");
    return x;
  }

  /// The entry for a field that is about to be set.
  field& put(std::string_view name) {
    if (const auto* found = find(name)) {
      auto& x = const_cast<field&>(*found);
      x.places = {};
      return x;
    }
    if (used == fields.size())
      fields.emplace_back();
    auto& x = fields[used++];
    x.name = name;
    x.data = nullptr;
    x.size = 0;
    x.places = {};
    return x;
  }

  /// Gives a field bytes of its own. If it `replaces` an older one, that one's stay readable until
  /// the next field is replaced: the function that replaces it may still read them.
  std::byte* own(field& x, std::size_t size, bool replaces) {
    if (replaces)
      replaced.swap(x.owned);
    check_sample_bytes(size);
    x.owned.resize(size);
    x.data = x.owned.data();
    x.size = size;
    return x.owned.data();
  }
  /// The row of the batch's ragged field of this name; null if the batch has none of this kind.
  const ragged_row* row_of(std::string_view name, dtype type, const shape& element) const {
    if (!target)
      return nullptr;
    const auto& wanted = target->layout->fields();
    const auto i = target->layout->find(name);
    return i < wanted.size() && wanted[i].ragged && wanted[i].type == type
                   && wanted[i].dims == element
               ? &target->ragged[i]
               : nullptr;
  }

  bool lies_in_batch(const field& x) const {
    return target
           && (std::find(target->dense.begin(), target->dense.end(), x.data) != target->dense.end()
               || std::any_of(target->ragged.begin(), target->ragged.end(), [&](const auto& row) {
                    return row.in && lies_in(row.bytes(), x.data);
                  }));
  }
};

sample::sample() : state_(std::make_unique<state>()) {}
sample::~sample() = default;

std::string sample::id() const {
  std::string text;
  sample_access::append_id(*this, text);
  return text;
}

bool sample::has(std::string_view name) const noexcept {
  return state_->find(name) != nullptr;
}

std::vector<std::string> sample::fields() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < state_->used; ++i)
    names.push_back(state_->fields[i].name);
  return names;
}

std::span<const std::byte> sample::bytes(std::string_view name) const {
  const auto& x = state_->get(name);
  return {x.data, x.size};
}

std::string_view sample::text(std::string_view name) const {
  auto x = bytes(name);
  return {reinterpret_cast<const char*>(x.data()), x.size()};
}

const std::byte* sample::tensor(std::string_view name, dtype type, std::size_t rank) const {
  const auto& x = state_->get(name);
  if (x.is_bytes() || x.type != type || x.dims.rank() != rank)
    throw bad_sample(cause::wrong_shape, "field is " + to_string(layout_of(x)) + ", asked for "
                                             + std::string{to_string(type)} + " of rank "
                                             + std::to_string(rank));
  return x.data;
}

bool sample::is_bytes(std::string_view name) const {
  return state_->get(name).is_bytes();
}

bool sample::is_ragged(std::string_view name) const {
  return state_->get(name).ragged;
}

dtype sample::type_of(std::string_view name) const {
  return state_->get_tensor(name).type;
}

shape sample::shape_of(std::string_view name) const {
  return state_->get_tensor(name).dims;
}

void sample::check_elements(std::string_view name, std::size_t got, const shape& dims) {
  if (got != dims.elements())
    throw bad_sample(cause::wrong_shape, "field \"" + std::string{name} + "\": got "
                                             + std::to_string(got) + " elements for shape "
                                             + to_string(dims));
}

void sample::check_parts(std::string_view name, std::size_t got, const shape& element) {
  if (element.elements() == 0 || got % element.elements() != 0)
    throw bad_sample(cause::wrong_shape,
                     "field \"" + std::string{name} + "\": got " + std::to_string(got)
                         + " numbers for elements of shape " + to_string(element));
}

void sample::set(std::string_view name, std::string_view text) {
  set(name, std::as_bytes(std::span{text.data(), text.size()}));
}

void sample::set(std::string_view name, std::span<const std::byte> bytes) {
  // The argument may be a view of the field that is being set: its old bytes stay readable.
  std::copy(bytes.begin(), bytes.end(), make_bytes(name, bytes.size()).begin());
}

std::byte* sample::make_tensor(std::string_view name, dtype type, const shape& dims) {
  const bool replaces = has(name);
  auto& x = state_->put(name);
  x.ragged = false;
  x.type = type;
  x.dims = dims;
  const auto size = dims.elements() * size_of(type);
  // The row of a replaced field is not handed out again either.
  if (state_->target && !replaces) {
    const auto& layout = *state_->target->layout;
    auto i = layout.find(name);
    if (i < layout.fields().size() && !layout.fields()[i].ragged && layout.fields()[i].type == type
        && layout.fields()[i].dims == dims) {
      auto* row = state_->target->dense[i];
      x.data = row;
      x.size = size;
      return row;
    }
  }
  return state_->own(x, size, replaces);
}

std::byte* sample::make_ragged(std::string_view name, dtype type, std::size_t length,
                               const shape& element) {
  check_parts(name, 0, element);
  const auto dims = element.behind(length);
  const bool replaces = has(name);
  auto& x = state_->put(name);
  x.ragged = true;
  x.type = type;
  x.dims = dims;
  const auto size = dims.elements() * size_of(type);
  // As with tensors, the row of a replaced field is not handed out again.
  if (const auto* row = replaces ? nullptr : state_->row_of(name, type, element)) {
    auto* to = row->resize(size);
    x.data = to;
    x.size = size;
    return to;
  }
  return state_->own(x, size, replaces);
}

std::span<std::byte> sample::make_bytes(std::string_view name, std::size_t size) {
  const bool replaces = has(name);
  auto& x = state_->put(name);
  x.be_bytes();
  return {state_->own(x, size, replaces), size};
}

void sample::erase(std::string_view name) noexcept {
  auto* x = const_cast<field*>(state_->find(name));
  if (x) {
    // Keeps the order of the others and the entry's memory.
    auto* end = state_->fields.data() + state_->used;
    std::rotate(x, x + 1, end);
    --state_->used;
  }
}

std::span<std::byte> sample::scratch(std::size_t size) {
  return state_->scratch.first(size);
}

void sample::borrow(std::string_view name, std::span<const std::byte> bytes) {
  auto& x = state_->put(name);
  x.be_bytes();
  x.data = bytes.data();
  x.size = bytes.size();
}

void sample::count_read(std::uint64_t bytes) noexcept {
  state_->bytes_read += bytes;
}

void sample_access::reset(sample& x, const row_target* target) {
  auto& s = *x.state_;
  s.used = 0;
  s.id.clear();
  s.target = target;
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
  const_cast<field&>(x.state_->get(name)).places = places;
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

bool sample::cancelled() const noexcept {
  return sample_access::stop_of(*this).stop_requested();
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
    if (f.data == f.owned.data() || lies_in(s.scratch.all(), f.data) || f.size == 0)
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
               + s.fields.capacity() * sizeof(field);
  for (const auto& f : s.fields)
    bytes += f.name.capacity() + f.owned.capacity();
  return bytes;
}

void sample_access::let_vary(sample& x, std::string_view name) {
  auto& f = const_cast<field&>(x.state_->get(name));
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
    auto* found = const_cast<field*>(&s.get(name));
    if (found >= s.fields.data() + kept) // a name that occurs twice is kept once
      std::swap(*found, s.fields[kept++]);
  }
  s.used = kept;
}

void source_access::shorten(sample& x, std::string_view name, std::size_t size) {
  const_cast<field&>(x.state_->get(name)).size = size;
}

void sample_access::rename(sample& x, std::string_view from, std::string_view to) {
  auto& s = *x.state_;
  auto& field = const_cast<leat::field&>(s.get(from));
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
  const auto& layout = *s.target->layout;
  for (std::size_t i = 0; i < layout.fields().size(); ++i) {
    const auto& want = layout.fields()[i];
    const auto& have = s.get(want.name);
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
  return leat::layout_of(x.state_->get(name));
}

std::uint64_t sample_access::take_bytes_read(sample& x) {
  return std::exchange(x.state_->bytes_read, 0);
}

} // namespace leat

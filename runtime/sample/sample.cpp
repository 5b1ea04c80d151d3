#include "runtime/sample/sample_state.hpp"

namespace leat {

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
  return state_->get_form(name).is_bytes();
}

bool sample::is_ragged(std::string_view name) const {
  return state_->get_form(name).ragged;
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
  auto* x = const_cast<sample_field*>(state_->find(name));
  if (x) {
    state_->drop(*x);
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

bool sample::cancelled() const noexcept {
  return sample_access::stop_of(*this).stop_requested();
}

} // namespace leat

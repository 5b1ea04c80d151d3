#include "runtime/sources/live/sample_bytes.hpp"

#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace leat {

namespace {

// A field: length and bytes of its name; kind; rank and extents, except for bytes; length and bytes
// of its content. Numbers are 8 bytes little-endian.

/// The kind of a tensor is its element type, that of a ragged field is this plus its element type,
/// that of bytes is 255.
constexpr std::uint64_t kind_of_ragged = 128;
constexpr std::uint64_t kind_of_bytes = 255;

void add(std::uint64_t x, std::string& to) {
  to.append(reinterpret_cast<const char*>(&x), sizeof x);
}

void add(std::string_view text, std::string& to) {
  add(text.size(), to);
  to += text;
}

void add(const field_layout& field, std::string& to) {
  add(field.name, to);
  if (field.is_bytes())
    return add(kind_of_bytes, to);
  add((field.ragged ? kind_of_ragged : 0) + static_cast<std::uint64_t>(field.type), to);
  add(field.dims.rank(), to);
  for (std::size_t i = 0; i < field.dims.rank(); ++i)
    add(field.dims[i], to);
}

[[noreturn]] void refuse(const char* what) {
  throw bad_sample(cause::corrupt, std::string{"journal record: "} + what);
}

class field_reader {
public:
  explicit field_reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }

  void read_into(sample& into) {
    const auto name = text();
    const auto kind = number(kind_of_bytes);
    if (kind == kind_of_bytes)
      return into.borrow(name, content());
    const auto type = kind % kind_of_ragged;
    if (type > static_cast<std::uint64_t>(last_dtype))
      refuse("an unknown type");
    if (kind < kind_of_ragged)
      read_tensor(into, name, static_cast<dtype>(type));
    else
      read_ragged(into, name, static_cast<dtype>(type));
  }

private:
  void read_tensor(sample& into, std::string_view name, dtype type) {
    const auto dims = read_shape(type, shape::max_rank);
    const auto values = content();
    if (values.size() != dims.elements() * size_of(type))
      refuse("a tensor of another size than its shape");
    auto* to = into.make_tensor(name, type, dims);
    std::copy(values.begin(), values.end(), to);
  }

  void read_ragged(sample& into, std::string_view name, dtype type) {
    const auto element = read_shape(type, shape::max_rank - 1);
    const auto width = element.elements() * size_of(type);
    const auto values = content();
    if (width == 0 || values.size() % width != 0)
      refuse("a ragged field of another size than its elements");
    auto* to = into.make_ragged(name, type, values.size() / width, element);
    std::copy(values.begin(), values.end(), to);
  }

  shape read_shape(dtype type, std::size_t most) {
    std::array<std::size_t, shape::max_rank> extents{};
    const auto rank = number(most);
    for (std::size_t i = 0; i < rank; ++i)
      extents[i] = number(~std::uint64_t{0});
    check_size(type, std::span{extents}.first(rank));
    shape dims;
    for (auto i = rank; i > 0; --i)
      dims = dims.behind(extents[i - 1]);
    return dims;
  }

  static void check_size(dtype type, std::span<const std::size_t> extents) {
    auto bytes = size_of(type);
    for (const auto extent : extents)
      if (__builtin_mul_overflow(bytes, extent, &bytes))
        refuse("a shape of too many elements");
  }

  std::uint64_t number(std::uint64_t largest) {
    std::uint64_t x = 0;
    const auto from = take(sizeof x);
    std::memcpy(&x, from.data(), sizeof x);
    if (x > largest)
      refuse("a number out of range");
    return x;
  }

  std::span<const std::byte> content() { return take(number(rest_.size())); }

  std::string_view text() {
    const auto x = content();
    return {reinterpret_cast<const char*>(x.data()), x.size()};
  }

  std::span<const std::byte> take(std::size_t size) {
    if (size > rest_.size())
      refuse("an end within a field");
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  std::span<const std::byte> rest_;
};

} // namespace

std::string bytes_of(const sample& x) {
  std::string bytes;
  for (const auto& field : sample_access::fields(x)) {
    add(field, bytes);
    add(x.text(field.name), bytes);
  }
  return bytes;
}

void set_fields(sample& into, std::span<const std::byte> bytes) {
  for (field_reader from{bytes}; !from.at_end();)
    from.read_into(into);
}

} // namespace leat

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

/// Counts, or writes if it has somewhere to.
class field_writer {
public:
  field_writer() = default;
  explicit field_writer(std::span<std::byte> to) : to_(to.data()) {}

  std::size_t size() const noexcept { return size_; }

  void add(const sample& x, const std::string& name) {
    const auto field = sample_access::layout_of(x, name);
    add(std::as_bytes(std::span{field.name}));
    if (field.is_bytes()) {
      add(kind_of_bytes);
    } else {
      add((field.ragged ? kind_of_ragged : 0) + static_cast<std::uint64_t>(field.type));
      add(field.dims.rank());
      for (std::size_t i = 0; i < field.dims.rank(); ++i)
        add(field.dims[i]);
    }
    add(x.bytes(name));
  }

private:
  void add(std::uint64_t x) { put(std::as_bytes(std::span{&x, 1})); }
  void add(std::span<const std::byte> content) {
    add(content.size());
    put(content);
  }
  void put(std::span<const std::byte> content) {
    if (to_ && !content.empty())
      std::memcpy(to_ + size_, content.data(), content.size());
    size_ += content.size();
  }

  std::byte* to_ = nullptr;
  std::size_t size_ = 0;
};

[[noreturn]] void refuse(const char* what) {
  throw bad_sample(cause::corrupt, std::string{"stored sample: "} + what);
}

class field_reader {
public:
  field_reader(std::span<const std::byte> bytes, read_bytes how) : rest_(bytes), how_(how) {}

  bool at_end() const { return rest_.empty(); }

  void read_into(sample& into) {
    const auto name = text();
    const auto kind = number(kind_of_bytes);
    if (kind == kind_of_bytes)
      return how_ == read_bytes::borrowed ? into.borrow(name, content())
                                          : into.set(name, content());
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
  read_bytes how_;
};

} // namespace

std::size_t num_field_bytes(const sample& x, std::span<const std::string> names) {
  field_writer counted;
  for (const auto& name : names)
    counted.add(x, name);
  return counted.size();
}

void write_fields(const sample& x, std::span<const std::string> names, std::span<std::byte> to) {
  field_writer written{to};
  for (const auto& name : names)
    written.add(x, name);
}

std::string bytes_of(const sample& x) {
  const auto names = x.fields();
  std::string bytes(num_field_bytes(x, names), '\0');
  write_fields(x, names, std::as_writable_bytes(std::span{bytes}));
  return bytes;
}

void set_fields(sample& into, std::span<const std::byte> bytes, read_bytes how) {
  for (field_reader from{bytes, how}; !from.at_end();)
    from.read_into(into);
}

} // namespace leat

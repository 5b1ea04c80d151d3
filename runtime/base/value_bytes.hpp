#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace leat {

// Values as bytes, one after the other, for another process that runs the same version of leat:
// numbers are varints, and texts have their size before them. Values themselves do not say which
// ones they are, so writer and reader must agree.

/// Bytes that grow.
class byte_room {
public:
  /// At least the first `size` bytes; they may have moved, and are as they were. Throws
  /// `errc::no_resources`, std::bad_alloc.
  virtual std::span<std::byte> reserve(std::size_t size) = 0;

protected:
  ~byte_room() = default;
};

class value_writer {
public:
  explicit value_writer(byte_room& to) noexcept : to_(&to) {}

  std::size_t size() const noexcept { return size_; }
  /// Takes back what was written after the first `size` bytes.
  void shrink(std::size_t size) noexcept { size_ = size; }

  void number(std::uint64_t x) {
    constexpr std::size_t most_bytes = 10;
    auto* const to = to_->reserve(size_ + most_bytes).data();
    for (; x >= 0x80; x >>= 7)
      to[size_++] = static_cast<std::byte>(x | 0x80U);
    to[size_++] = static_cast<std::byte>(x);
  }
  void flag(bool x) { number(x ? 1 : 0); }
  void bytes(std::span<const std::byte> x) {
    number(x.size());
    raw(x);
  }
  void text(std::string_view x) { bytes(std::as_bytes(std::span{x})); }
  /// Bytes whose number the reader knows.
  void raw(std::span<const std::byte> x) {
    const auto to = room(x.size());
    if (!x.empty())
      std::memcpy(to.data(), x.data(), x.size());
  }
  /// A value as it lies in memory: for a process on the same machine.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void as_it_is(const T& x) { raw(std::as_bytes(std::span{&x, 1})); }
  /// So many bytes for the caller to write, until the next call.
  std::span<std::byte> room(std::size_t size) {
    const auto found = to_->reserve(size_ + size).subspan(size_, size);
    size_ += size;
    return found;
  }

private:
  byte_room* to_;
  std::size_t size_ = 0;
};

/// What was read is not what a value_writer wrote.
class torn_value : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Reads what a value_writer wrote. Trusts nothing: each function throws `torn_value` for anything
/// else, and nothing makes it use more memory than there are bytes.
class value_reader {
public:
  explicit value_reader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}
  explicit value_reader(std::string_view bytes) noexcept : rest_(std::as_bytes(std::span{bytes})) {}

  std::uint64_t number() {
    std::uint64_t x = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(raw(1)[0]);
      if (shift == 63 && byte > 1)
        break;
      x |= (byte & 0x7fU) << shift;
      if (byte < 0x80)
        return x;
    }
    throw torn_value("a number above 64 bits");
  }
  /// A number of at most `most`.
  std::uint64_t number(std::uint64_t most) {
    const auto x = number();
    if (x > most)
      throw torn_value("the number " + std::to_string(x) + ", needed at most "
                       + std::to_string(most));
    return x;
  }
  bool flag() { return number(1) == 1; }
  /// How many values follow, each of which has at least `least_bytes`; at most `most`.
  std::size_t count(std::size_t least_bytes, std::uint64_t most) {
    return static_cast<std::size_t>(
        number(std::min<std::uint64_t>(most, rest_.size() / least_bytes)));
  }
  /// They lie where they were read from.
  std::span<const std::byte> bytes() {
    const auto size = number();
    if (size > rest_.size())
      throw torn_value("a size of " + std::to_string(size) + " bytes, of which only "
                       + std::to_string(rest_.size()) + " follow");
    return raw(static_cast<std::size_t>(size));
  }
  std::string_view text() {
    const auto x = bytes();
    return {reinterpret_cast<const char*>(x.data()), x.size()};
  }
  std::span<const std::byte> raw(std::size_t size) {
    if (size > rest_.size())
      throw torn_value("the end, where " + std::to_string(size) + " bytes were needed");
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void as_it_is(T& x) { std::memcpy(static_cast<void*>(&x), raw(sizeof x).data(), sizeof x); }

  bool at_end() const noexcept { return rest_.empty(); }
  /// Throws unless all was read.
  void end() const {
    if (!at_end())
      throw torn_value(std::to_string(rest_.size()) + " bytes too many");
  }

private:
  std::span<const std::byte> rest_;
};

/// Bytes in a string.
class string_room final : public byte_room {
public:
  std::span<std::byte> reserve(std::size_t size) override {
    if (size > text_.size())
      text_.resize(std::max(size, 2 * text_.size()));
    return std::as_writable_bytes(std::span{text_});
  }
  std::string take(std::size_t size) {
    text_.resize(size);
    return std::move(text_);
  }

private:
  std::string text_;
};

/// What `write` writes to the value_writer that it is given.
template <class Write>
std::string bytes_written_by(Write write) {
  string_room room;
  value_writer to{room};
  write(to);
  return room.take(to.size());
}

/// What `read` makes of a value_reader over the bytes; nothing if they are torn, or if it leaves
/// some.
template <class Read>
auto read_whole(std::string_view bytes, Read read)
    -> std::optional<decltype(read(std::declval<value_reader&>()))> try {
  value_reader from{bytes};
  auto x = read(from);
  from.end();
  return x;
} catch (const torn_value&) {
  return std::nullopt;
}

} // namespace leat

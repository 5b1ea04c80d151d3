#include "runtime/sources/index_sections.hpp"

#include "runtime/base/aligned_vector.hpp"
#include "runtime/base/xxh3.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace leat {

namespace {

constexpr std::array<char, 8> index_magic{'l', 'e', 'a', 't', 'i', 'd', 'x', '1'};
/// The checksum of the header begins after itself.
constexpr std::size_t index_checked_from = 16;

/// Sections begin at multiples of this.
constexpr std::size_t section_alignment = 8;

constexpr std::uint64_t filled_up(std::uint64_t bytes) {
  return round_up(bytes, section_alignment);
}

std::array<char, index_sections::max_name> section_name(std::string_view name) {
  std::array<char, index_sections::max_name> x{};
  std::copy(name.begin(), name.end(), x.begin());
  return x;
}

template <class Header>
std::uint64_t checksum_of(const Header& x) {
  static_assert(
      std::is_trivially_copyable_v<Header> && std::has_unique_object_representations_v<Header>);
  return xxh3_64(std::as_bytes(std::span{&x, 1}).subspan(index_checked_from));
}

} // namespace

/// 0 if this is not the beginning of an index of `all` bytes.
std::uint64_t index_sections::held_bytes(std::span<const std::byte> bytes, std::uint64_t all) {
  header h;
  if (bytes.size() < sizeof h)
    return 0;
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.magic != index_magic || h.checksum != checksum_of(h) || h.held > all)
    return 0;
  auto end = std::uint64_t{sizeof h};
  for (const auto& x : h.sections) {
    if (x.name == section_name(""))
      continue;
    const bool crosses = x.begin < h.held && h.held - x.begin < filled_up(x.bytes);
    if (x.begin != end || x.bytes > all - end || filled_up(x.bytes) > all - end || crosses)
      return 0;
    end += filled_up(x.bytes);
  }
  return end == all ? h.held : 0;
}

std::optional<index_sections> index_sections::load(const std::string& path,
                                                   const hash128& subject) {
  const auto bytes = read_index(path, sizeof(header), held_bytes);
  return bytes ? adopt(*bytes, subject) : std::nullopt;
}

std::optional<index_sections> index_sections::adopt(const index_bytes& bytes,
                                                    const hash128& subject) {
  const auto held = held_bytes({bytes.data.get(), bytes.size}, bytes.all());
  if (held < sizeof(header) || held > bytes.size)
    return {};
  index_sections x;
  std::memcpy(&x.header_, bytes.data.get(), sizeof x.header_);
  if (x.header_.subject != subject)
    return {};
  x.bytes_ = bytes;
  return x;
}

const index_sections::section* index_sections::find(std::string_view name) const noexcept {
  const auto wanted = section_name(name);
  const auto x = std::find_if(header_.sections.begin(), header_.sections.end(),
                              [&](const section& s) { return s.name == wanted; });
  return x == header_.sections.end() ? nullptr : &*x;
}

std::optional<std::span<const std::byte>> index_sections::held(std::string_view name) const {
  const auto* x = find(name);
  if (!x || x->begin > header_.held || filled_up(x->bytes) > header_.held - x->begin)
    return {};
  const std::span all{bytes_.data.get(), static_cast<std::size_t>(header_.held)};
  const auto part = all.subspan(static_cast<std::size_t>(x->begin),
                                static_cast<std::size_t>(filled_up(x->bytes)));
  if (xxh3_64(part) != x->checksum)
    return {};
  return part.first(static_cast<std::size_t>(x->bytes));
}

std::optional<std::string_view> index_sections::text(std::string_view name) const {
  const auto bytes = held(name);
  if (!bytes)
    return {};
  return std::string_view{reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

index_tail index_sections::at_use(std::string_view name) const {
  const auto* x = find(name);
  return x ? index_tail{bytes_, x->begin, x->bytes} : index_tail{};
}

std::vector<std::uint64_t> ends_of(std::span<const std::vector<std::byte>> pieces) {
  std::vector<std::uint64_t> ends;
  ends.reserve(pieces.size());
  for (const auto& x : pieces)
    ends.push_back((ends.empty() ? 0 : ends.back()) + x.size());
  return ends;
}

index_writer::index_writer(const hash128& subject) : bytes_(sizeof header_) {
  header_.magic = index_magic;
  header_.subject = subject;
}

index_sections::section& index_writer::begin_section(std::string_view name, std::uint64_t bytes) {
  auto& x = header_.sections.at(sections_++);
  x = {.name = section_name(name), .begin = bytes_.size(), .bytes = bytes, .checksum = 0};
  return x;
}

void index_writer::hold(std::string_view name, std::span<const std::byte> bytes) {
  auto& x = begin_section(name, bytes.size());
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  bytes_.resize(static_cast<std::size_t>(filled_up(bytes_.size())));
  x.checksum = xxh3_64(std::span{bytes_}.subspan(static_cast<std::size_t>(x.begin)));
  header_.held = bytes_.size();
}

void index_writer::leave(std::string_view name, std::span<const std::vector<std::byte>> pieces) {
  const auto ends = ends_of(pieces);
  const auto bytes = ends.empty() ? 0 : ends.back();
  begin_section(name, bytes);
  bytes_.reserve(bytes_.size() + static_cast<std::size_t>(filled_up(bytes)));
  for (const auto& x : pieces)
    bytes_.insert(bytes_.end(), x.begin(), x.end());
  bytes_.resize(static_cast<std::size_t>(filled_up(bytes_.size())));
}

std::vector<std::byte> index_writer::finish() && {
  header_.held = std::max<std::uint64_t>(header_.held, sizeof header_);
  header_.checksum = checksum_of(header_);
  std::memcpy(bytes_.data(), &header_, sizeof header_);
  return std::move(bytes_);
}

} // namespace leat

#pragma once

#include "runtime/sources/index_files.hpp"

#include <leat/hash128.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// The parts of an index file, by name. Sections that are held come first and have checksums; those
/// that are read at use are checked by whoever uses them. A reader passes over names that it does
/// not know, so that an index may gain sections without being made again.
///
/// The file: a header, which says what data the index is of and where its sections lie, and the
/// sections, each at a multiple of 8 bytes. Numbers are little-endian. Another format of the header
/// would have another magic; a section whose content changes gets another name.
class index_sections {
public:
  static constexpr std::size_t max_name = 8;
  static constexpr std::size_t max_sections = 16;

  /// Takes bytes that an index_writer made for this subject. Empty for all others, and for a
  /// damaged header; no byte of it is trusted.
  static std::optional<index_sections> adopt(const index_bytes& bytes, const hash128& subject);
  /// The index stored in a file; empty if it is not one of this subject.
  static std::optional<index_sections> load(const std::string& path, const hash128& subject);

  bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
  /// A held section, which lives as long as the index; nothing if there is none, or if it is
  /// damaged.
  std::optional<std::span<const std::byte>> held(std::string_view name) const;
  /// The same as an array; nothing if it does not consist of whole elements.
  template <class T>
  std::optional<std::span<const T>> array(std::string_view name) const {
    const auto bytes = held(name);
    if (!bytes || bytes->size() % sizeof(T) != 0)
      return {};
    return std::span{reinterpret_cast<const T*>(bytes->data()), bytes->size() / sizeof(T)};
  }
  /// As a text; nothing as for `held`.
  std::optional<std::string_view> text(std::string_view name) const;
  /// A section that is read at use; an empty one if there is none. The index must outlive it.
  index_tail at_use(std::string_view name) const;

private:
  friend class index_writer;
  /// Zero where there is none.
  struct section {
    std::array<char, max_name> name;
    std::uint64_t begin;
    std::uint64_t bytes;
    /// XXH3-64 of a held section, with the zeros that fill it up to a multiple of 8.
    std::uint64_t checksum;
  };
  struct header {
    std::array<char, 8> magic;
    /// XXH3-64 of what follows in the header.
    std::uint64_t checksum;
    hash128 subject;
    /// How many of the file's first bytes are held.
    std::uint64_t held;
    std::array<section, max_sections> sections;
  };

  static std::uint64_t held_bytes(std::span<const std::byte> bytes, std::uint64_t all);
  const section* find(std::string_view name) const noexcept;

  index_bytes bytes_;
  header header_{};
};

/// Where each of these ends, if they follow each other.
std::vector<std::uint64_t> ends_of(std::span<const std::vector<std::byte>> pieces);

/// Puts the bytes of an index together.
class index_writer {
public:
  /// `subject`: a digest of what the index is of, and of the rules by which it was made.
  explicit index_writer(const hash128& subject);

  /// Adds a section that is read when the index is opened. Names have at most `max_name`
  /// characters, each name comes once, and held sections come before all others.
  void hold(std::string_view name, std::span<const std::byte> bytes);
  template <class T>
  void hold(std::string_view name, const std::vector<T>& values) {
    hold(name, std::as_bytes(std::span{values}));
  }
  void hold(std::string_view name, std::string_view text) {
    hold(name, std::as_bytes(std::span{text.data(), text.size()}));
  }
  /// Adds a section that is read at use, of these pieces.
  void leave(std::string_view name, std::span<const std::vector<std::byte>> pieces);

  std::vector<std::byte> finish() &&;

private:
  index_sections::section& begin_section(std::string_view name, std::uint64_t bytes);

  index_sections::header header_{};
  std::size_t sections_ = 0;
  std::vector<std::byte> bytes_;
};

} // namespace leat

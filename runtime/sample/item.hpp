#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/sample/record_use.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Content that travels with an item, so that it need not be read or made again.
class payload : not_copied {
public:
  virtual ~payload() = default;
};

using payload_ptr = std::shared_ptr<const payload>;

/// Owners of payloads: edges by their numbers, and sources, for content that they cannot read again
/// and for what lies around content that they can.
inline constexpr std::uint32_t payload_of_source = ~std::uint32_t{0};
inline constexpr std::uint32_t payload_around = payload_of_source - 1;

/// What ordered code handles in place of a sample: which records it is made from, and what each
/// operator decided on its way. A row of numbers and short texts, outermost operator first, that
/// only the operators themselves can read. Small: this is what buffers and snapshots hold.
///
/// States of operators are written in the same way.
class item {
public:
  void add(std::uint64_t x) {
    while (x >= 0x80) {
      bytes_.push_back(static_cast<char>(x | 0x80));
      x >>= 7;
    }
    bytes_.push_back(static_cast<char>(x));
  }
  void add(std::string_view text) {
    add(text.size());
    bytes_.append(text);
  }
  /// Appends another item, with its payloads.
  void append(const item& x);
  /// The same, and takes them from it: what it is then is not defined.
  void append(item&& x);
  /// Appends another item as a text, without its payloads: `item_reader::held` reads it.
  void hold(const item& x);

  /// Notes records that exist once and belong to this item or to what is appended to it. They are
  /// kept beside the bytes: they say which records must be kept, not which sample this is. Never
  /// too few.
  void use(const record_use& x) { leat::add(uses_, x); }
  const record_uses& uses() const noexcept { return uses_; }

  /// Attaches content to the part from `begin` to the end, in place of other content there. `owner`
  /// says whose it is.
  void attach(std::size_t begin, std::uint32_t owner, payload_ptr content);
  /// Attaches content of a source to the part from `begin` to `end`, which has none.
  void attach_restored(std::size_t begin, std::size_t end, payload_ptr content);
  /// Drops all content except that of sources that cannot read it again.
  void drop_payloads();
  /// Drops what lies around the content of sources that can read it again.
  void drop_surroundings();
  bool has_payloads() const noexcept { return !payloads_.empty(); }
  /// Calls `visit(begin, end, content)` for the content of sources that cannot read it again.
  template <class Visit>
  void visit_content(Visit visit) const {
    for (const auto& x : payloads_)
      if (x.owner == payload_of_source)
        visit(x.begin, x.end, x.content);
  }

  void clear() noexcept {
    bytes_.clear();
    payloads_.clear();
    uses_.clear();
  }
  /// Returns to an earlier size().
  void cut(std::size_t size);
  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  const std::string& bytes() const noexcept { return bytes_; }
  /// Faster than moving: this is done for every item on its way.
  friend void swap(item& a, item& b) noexcept {
    a.bytes_.swap(b.bytes_);
    a.payloads_.swap(b.payloads_);
    a.uses_.swap(b.uses_);
  }
  static item from_bytes(std::string bytes, record_uses uses = {});

  /// Two items are equal if they stand for the same sample, with or without payloads.
  friend bool operator==(const item& a, const item& b) { return a.bytes_ == b.bytes_; }

private:
  friend class item_reader;

  struct attached {
    std::size_t begin;
    std::size_t end;
    std::uint32_t owner;
    payload_ptr content;
  };

  /// What `owner` attached to the part from `begin` on; null if there is nothing.
  const attached* find(std::size_t begin, std::uint32_t owner) const noexcept;

  std::string bytes_;
  /// Rising by where they begin: a pack has thousands.
  std::vector<attached> payloads_;
  record_uses uses_;
};

/// Throws `errc::bad_snapshot`: for an item or a state that the pipeline cannot have written.
[[noreturn]] void refuse_state(std::string got, std::string needed);

/// Reads an item from its beginning. The item must outlive it and not change.
class item_reader {
public:
  explicit item_reader(const item& x) : item_(&x), bytes_(x.bytes_) {}
  /// Reads just a state, without payloads.
  explicit item_reader(std::string_view bytes) : bytes_(bytes) {}

  /// Throws `errc::bad_snapshot` if there is no number: the bytes came from a foreign state.
  std::uint64_t number() {
    if (at_ < bytes_.size() && static_cast<unsigned char>(bytes_[at_]) < 0x80) // most are small
      return static_cast<unsigned char>(bytes_[at_++]);
    return long_number();
  }
  /// Reads a number of at most `largest`; the error names it as `what`.
  std::uint64_t number(std::uint64_t largest, std::string_view what = "a number");
  /// Reads a number below `end`.
  std::uint64_t number_below(std::uint64_t end, std::string_view what);
  std::string_view text();
  /// Reads what `item::hold` wrote.
  item held();
  /// How many bytes were read.
  std::size_t place() const noexcept { return at_; }
  bool at_end() const noexcept { return at_ == bytes_.size(); }

  /// The content that `owner` attached to the part that comes next, which is then skipped; null if
  /// there is none.
  payload_ptr take_payload(std::uint32_t owner);
  /// Reads the next number without moving on.
  payload_ptr find_payload(std::uint32_t owner) const;

private:
  std::uint64_t long_number();

  const item* item_ = nullptr;
  std::string_view bytes_;
  std::size_t at_ = 0;
};

} // namespace leat

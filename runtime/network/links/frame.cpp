#include "runtime/network/links/frame.hpp"

#include "runtime/network/links/bulk_frame.hpp"

#include <cstring>

namespace leat {

namespace {

constexpr std::uint32_t kilobytes = 1U << 10;
constexpr std::uint32_t megabytes = 1U << 20;

template <class T>
void put_number(char* to, T x) noexcept {
  std::memcpy(to, &x, sizeof x);
}

template <class T>
void get_number(T& x, const char* from) noexcept {
  std::memcpy(&x, from, sizeof x);
}

} // namespace

std::array<char, header_bytes> bytes_of(const frame_header& x) noexcept {
  std::array<char, header_bytes> bytes; // NOLINT: filled below
  put_number(bytes.data(), x.length);
  put_number(bytes.data() + 4, x.kind);
  put_number(bytes.data() + 8, x.number);
  return bytes;
}

frame_header header_at(const char* bytes) noexcept {
  frame_header x;
  get_number(x.length, bytes);
  get_number(x.kind, bytes + 4);
  get_number(x.number, bytes + 8);
  return x;
}

frame_rules& frame_rules::allow(frame_kind kind, std::uint32_t most_bytes) noexcept {
  most_[static_cast<std::uint32_t>(kind)] = std::uint64_t{most_bytes} + 1;
  return *this;
}

frame_rules hello_rules() noexcept {
  return frame_rules{}.allow(frame_kind::hello, 8 * kilobytes);
}

frame_rules answer_rules() noexcept {
  return frame_rules{}
      .allow(frame_kind::welcome, 4 * kilobytes)
      .allow(frame_kind::refusal, 4 * kilobytes);
}

frame_rules rules_from(link_role role) noexcept {
  switch (role) {
  case link_role::rank: // pieces of parts have at most 1 MiB
    return frame_rules{}
        .allow(frame_kind::join, 4 * megabytes) // has the pipeline
        .allow(frame_kind::beat, megabytes)
        .allow(frame_kind::part, megabytes + 64 * kilobytes);
  case link_role::observer:
  case link_role::worker: // looks for ranks
  case link_role::feed:   // likewise
    return frame_rules{}.allow(frame_kind::look, 0);
  case link_role::coordinator:
    break;
  }
  return {};
}

frame_rules rules_to(link_role role) noexcept {
  switch (role) {
  case link_role::rank:
    return frame_rules{}.allow(frame_kind::word, 4 * megabytes);
  case link_role::observer:
  case link_role::worker:
  case link_role::feed:
    return frame_rules{}.allow(frame_kind::status, 4 * megabytes);
  case link_role::coordinator:
    break;
  }
  return {};
}

namespace {

/// `payloads`: the kind of frame that has one.
frame_rules bulk_rules(frame_kind payloads) noexcept {
  return frame_rules{}
      .allow(frame_kind::credit, 0)
      .allow(payloads, most_bulk_payload + most_bulk_words + 4)
      .allow(frame_kind::note, most_bulk_words + 4);
}

} // namespace

frame_rules bulk_rules_from(link_role role) noexcept {
  switch (role) {
  case link_role::worker:
    return bulk_rules(frame_kind::row);
  case link_role::rank:
    return bulk_rules(frame_kind::offer);
  case link_role::feed:
    return bulk_rules(frame_kind::records);
  case link_role::coordinator:
  case link_role::observer:
    break;
  }
  return {};
}

frame_rules bulk_rules_to_feed() noexcept {
  return bulk_rules(frame_kind::wants);
}

} // namespace leat

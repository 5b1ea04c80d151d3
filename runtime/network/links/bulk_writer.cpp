#include "runtime/network/links/bulk_writer.hpp"

#include "runtime/network/links/socket_bytes.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace leat {

namespace {

/// What one call is given at most.
constexpr std::size_t places_at_once = 256;
/// So much is encrypted before it is sent: it stays in the processor's cache.
constexpr std::size_t sealed_bytes = 256 << 10;

/// What of it comes after the first `skipped` bytes, for as long as `take`, which gets it piece by
/// piece, returns true.
template <class Take>
void for_each_piece(const bulk_parcel& x, std::size_t skipped, Take take) {
  const auto rest = [&](std::string_view bytes) {
    const auto skip = std::min(skipped, bytes.size());
    skipped -= skip;
    bytes.remove_prefix(skip);
    return bytes.empty() || take(bytes);
  };
  if (!rest(x.front))
    return;
  for (const auto& part : x.payload)
    if (!rest({part.data(), part.size()}))
      return;
}

} // namespace

bulk_parcel parcel_of(bulk_frame& x) {
  bulk_parcel parcel{
      .front = front_of(x), .payload = std::move(x.payload), .owner = std::move(x.owner)};
  for (const auto& part : parcel.payload)
    parcel.bytes += part.size();
  parcel.cost = cost_of(parcel.bytes - header_bytes);
  return parcel;
}

void bulk_writer::add_credit(std::int64_t bytes) {
  const auto head = bytes_of({.kind = static_cast<std::uint32_t>(frame_kind::credit),
                              .number = static_cast<std::uint64_t>(bytes)});
  const auto at = waiting_.begin() + (sent_ > 0 ? 1 : 0);
  waiting_.insert(at, bulk_parcel{.front = {head.data(), head.size()}});
}

std::int64_t bulk_writer::send(const file_descriptor& socket) {
  if (through_.is_plain())
    send_plain(socket);
  else
    send_sealed(socket);
  return std::exchange(done_, 0);
}

void bulk_writer::send_plain(const file_descriptor& socket) {
  std::array<iovec, places_at_once> places; // NOLINT: filled below
  while (!waiting_.empty()) {
    std::size_t count = 0;
    std::size_t size = 0;
    for (auto x = waiting_.begin(); x != waiting_.end() && count < places_at_once; ++x)
      for_each_piece(*x, x == waiting_.begin() ? sent_ : 0, [&](std::string_view bytes) {
        places[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
        size += bytes.size();
        return count < places_at_once;
      });
    const auto n = send_some(socket, {places.data(), count});
    pass(n);
    if (n < size) // the socket tells when it takes more
      return;
  }
}

/// So many bytes more are on their way.
void bulk_writer::pass(std::size_t bytes) {
  sent_ += bytes;
  while (!waiting_.empty() && sent_ >= waiting_.front().bytes) {
    sent_ -= waiting_.front().bytes;
    done_ += waiting_.front().cost;
    waiting_.pop_front();
  }
}

void bulk_writer::send_sealed(const file_descriptor& socket) {
  do {
    if (sealed_sent_ == sealed_.size()) {
      sealed_.clear();
      sealed_sent_ = 0;
    }
    seal_some();
  } while (!sealed_.empty() && send_rest(socket));
}

/// Encrypts the beginning of what waits, unless enough is encrypted.
void bulk_writer::seal_some() {
  while (!waiting_.empty() && sealed_.size() < sealed_bytes) {
    std::size_t size = 0;
    for_each_piece(waiting_.front(), sent_, [&](std::string_view bytes) {
      bytes = bytes.substr(0, sealed_bytes);
      seal(bytes);
      size += bytes.size();
      return bytes.size() < sealed_bytes && sealed_.size() < sealed_bytes;
    });
    pass(size);
  }
  if (waiting_.empty() && !record_.empty())
    seal_record();
}

/// Fills records: what does not fill one waits for what comes next.
void bulk_writer::seal(std::string_view bytes) {
  while (!bytes.empty()) {
    if (record_.empty() && bytes.size() >= tls_record_bytes) {
      const auto whole = bytes.size() / tls_record_bytes * tls_record_bytes;
      through_.write(bytes.substr(0, whole), sealed_);
      bytes.remove_prefix(whole);
      continue;
    }
    const auto size = std::min(tls_record_bytes - record_.size(), bytes.size());
    record_.insert(record_.end(), bytes.begin(), bytes.begin() + static_cast<long>(size));
    bytes.remove_prefix(size);
    if (record_.size() == tls_record_bytes)
      seal_record();
  }
}

void bulk_writer::seal_record() {
  through_.write({record_.data(), record_.size()}, sealed_);
  record_.clear();
}

/// Whether all that is encrypted is sent.
bool bulk_writer::send_rest(const file_descriptor& socket) {
  iovec rest{sealed_.data() + sealed_sent_, sealed_.size() - sealed_sent_};
  sealed_sent_ += send_some(socket, {&rest, 1});
  return sealed_sent_ == sealed_.size();
}

} // namespace leat

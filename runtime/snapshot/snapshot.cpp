#include "runtime/snapshot/snapshot.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/framed_bytes.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/snapshot/snapshot_message.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace leat {

namespace {

constexpr std::uint32_t current_version = 5;
constexpr std::uint32_t version_with_killed = 4;
constexpr std::uint32_t oldest_version = 3;
// Magic, version and length are hashed together with the message, and nothing follows the message.
constexpr std::size_t length_at = 12;
constexpr std::size_t checksum_at = 16;
constexpr std::size_t message_at = 32;

hash128 checksum(std::string_view head, std::string_view message) {
  auto& hash = of_this_thread<hash_stream>(); // it lies on the heap
  hash.reset();
  hash.add_raw(std::as_bytes(std::span{head}));
  hash.add_raw(std::as_bytes(std::span{message}));
  return hash.digest128();
}

template <class T>
void put_number(std::string& to, std::size_t offset, T x) {
  std::memcpy(to.data() + offset, &x, sizeof(x));
}

/// The lowest version that has all that is in a snapshot, so that as many readers as possible
/// understand it: 4 has the cause `killed`, 5 the versions of files on servers.
std::uint32_t version_for(const snapshot& x, bool has_versions) noexcept {
  if (has_versions)
    return current_version;
  return x.sums.bad[static_cast<std::size_t>(cause::killed)] > 0 ? version_with_killed
                                                                 : oldest_version;
}

bool have_versions(const operator_facts& x) {
  return (x.data && x.data->versions.are_known())
         || std::any_of(x.inputs.begin(), x.inputs.end(), have_versions);
}

/// The message within a frame that is whole.
std::string_view unframe(std::string_view bytes, const std::string& name) {
  if (bytes.size() < message_at)
    refuse_snapshot(name, std::to_string(bytes.size()) + " bytes",
                    "at least " + std::to_string(message_at) + ", the length of its header");
  if (!bytes.starts_with(snapshot_magic))
    refuse_snapshot(name, "something other than a snapshot",
                    "a file that begins with \"" + std::string{snapshot_magic} + '"');
  const auto version = little_endian_at<std::uint32_t>(bytes, 8);
  if (version < oldest_version || version > current_version)
    refuse_snapshot(name,
                    "version " + std::to_string(version)
                        + (version < oldest_version ? ", of an earlier leat" : ", of a later leat"),
                    "version " + std::to_string(oldest_version) + " to "
                        + std::to_string(current_version) + ", or the leat that wrote it");
  const auto message = bytes.substr(message_at);
  const auto length = little_endian_at<std::uint32_t>(bytes, length_at);
  if (length != message.size() || bytes.size() > max_snapshot_bytes)
    refuse_snapshot(name, std::to_string(message.size()) + " bytes after the header",
                    std::to_string(length) + " as the header says, and at most "
                        + std::to_string(max_snapshot_bytes - message_at));
  const hash128 written{.low = little_endian_at<std::uint64_t>(bytes, checksum_at),
                        .high = little_endian_at<std::uint64_t>(bytes, checksum_at + 8)};
  const auto found = checksum(bytes.substr(0, checksum_at), message);
  if (found != written)
    refuse_snapshot(name, "checksum " + to_string(found),
                    to_string(written) + ", as the header says: the file is damaged");
  return message;
}

} // namespace

handed_over& handed_over::operator+=(const handed_over& x) {
  digest += x.digest;
  epoch_digest += x.epoch_digest;
  samples += x.samples;
  for (std::size_t i = 0; i < num_causes; ++i)
    bad[i] += x.bad[i];
  add(given, x.given);
  partial = partial || x.partial;
  return *this;
}

snapshot_encoder::snapshot_encoder(const pipeline_facts& pipeline)
    : pipeline_(message_of(pipeline)), has_versions_(have_versions(pipeline.root)) {}

std::string snapshot_encoder::operator()(const snapshot& x, const lane_states& lanes) const {
  std::string bytes;
  bytes.reserve(message_at + pipeline_.size());
  bytes = snapshot_magic;
  append_little_endian(bytes, version_for(x, has_versions_));
  bytes.resize(message_at);
  bytes += pipeline_;
  append_state(x, lanes, bytes);
  const auto length = bytes.size() - message_at;
  if (bytes.size() > max_snapshot_bytes)
    refuse_argument("snapshot", "a snapshot of " + std::to_string(length) + " bytes",
                    "at most " + std::to_string(max_snapshot_bytes - message_at)
                        + ": smaller shuffle buffers, or more ranks");
  put_number(bytes, length_at, static_cast<std::uint32_t>(length));
  const auto all = std::string_view{bytes};
  const auto hash = checksum(all.substr(0, checksum_at), all.substr(message_at));
  put_number(bytes, checksum_at, hash.low);
  put_number(bytes, checksum_at + 8, hash.high);
  return bytes;
}

std::string encode(const snapshot& x) {
  return snapshot_encoder{x.pipeline}(x, x.lanes);
}

snapshot decode(std::string_view bytes, const std::string& name) {
  return read_message(unframe(bytes, name), name);
}

} // namespace leat

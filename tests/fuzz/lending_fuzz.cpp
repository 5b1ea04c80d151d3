#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/lent_job.hpp"
#include "runtime/lending/payload_pieces.hpp"
#include "runtime/lending/piece_intake.hpp"
#include "tests/fuzz/checks.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

using namespace leat;

namespace {

void read_rows(std::string_view bytes) {
  if (const auto rows = decode_offer(bytes)) {
    for (const auto& x : *rows) {
      touch(x.request);
      records_at_hand records;
      (void)records.read(x.records);
    }
    check(decode_offer(encode(*rows)).has_value());
  }
  if (const auto rows = decode_answer(bytes)) {
    for (const auto& x : *rows)
      touch(x.result);
    check(decode_answer(encode(*rows)).has_value());
  }
}

struct short_frame {
  /// Which of a few senders, and which of two numbers.
  std::size_t from = 0;
  std::uint64_t number = 0;
  std::string_view words = {};
  std::string_view payload = {};
};

/// A frame of up to 16 bytes of words and 16 of payload, at the beginning of the bytes.
bool take_frame(std::string_view& bytes, short_frame& x) {
  if (bytes.size() < 2)
    return false;
  x.number = static_cast<std::uint64_t>(bytes[0] & 1);
  x.from = static_cast<std::size_t>(bytes[0] >> 1 & 1);
  const auto lengths = static_cast<unsigned char>(bytes[1]);
  bytes.remove_prefix(2);
  x.words = bytes.substr(0, lengths & 15U);
  bytes.remove_prefix(x.words.size());
  x.payload = bytes.substr(0, lengths >> 4U);
  bytes.remove_prefix(x.payload.size());
  return true;
}

void read_pieces(std::string_view bytes) {
  payload_pieces pieces;
  std::size_t received = 0;
  for (short_frame x; take_frame(bytes, x);) {
    const auto& [from, number, words, payload] = x;
    received = pieces.is_open() ? received : 0;
    const auto found = pieces.add(number, words, payload);
    if (found == payload_pieces::state::torn)
      return;
    received += payload.size();
    check(received <= pieces.size() && pieces.size() <= most_whole_bytes);
    if (found == payload_pieces::state::whole)
      check(pieces.take().size() == received && received == pieces.size());
  }
}

/// Two connections that share the room for a few payloads, of which some are kept.
void share_room(std::string_view bytes) {
  constexpr std::uint64_t most = 200;
  const byte_allowance room{most};
  {
    std::array<piece_intake, 2> all{piece_intake{room, most}, piece_intake{room, most}};
    std::array<std::shared_ptr<std::vector<char>>, 2> kept;
    bool is_torn = false; // then that link is cut off
    for (short_frame x; !is_torn && take_frame(bytes, x);) {
      is_torn = true;
      allow(errc::cluster, [&] {
        const auto found = all[x.from].add(x.number, x.words, x.payload);
        check(!found.bytes || found.is_whole);
        if (found.bytes && found.index % 2 == 0)
          kept[x.from] = found.bytes;
        check(room.used() <= most);
        is_torn = false;
      });
    }
  }
  check(room.used() == 0);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  if (const auto note = decode_lending_note(bytes))
    check(decode_lending_note(encode(*note)) == *note);
  if (const auto job = decode_lent_job(bytes))
    check(decode_lent_job(encode(*job)).has_value());
  read_rows(bytes);
  read_pieces(bytes);
  share_room(bytes);
  return 0;
}

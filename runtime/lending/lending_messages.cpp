#include "runtime/lending/lending_messages.hpp"

#include "runtime/base/value_bytes.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

constexpr std::uint64_t most_cores = 1 << 16;
constexpr std::uint64_t most_window = std::uint64_t{1} << 40;
/// That a note names: it is too short for so many.
constexpr std::uint64_t most_offers = 1 << 20;
constexpr std::uint64_t most_time = std::uint64_t{3600} * 1'000'000'000;

lending_note::kind read_kind(value_reader& from) {
  const auto kind = from.number(static_cast<std::uint64_t>(lending_note::kind::over));
  if (kind == 0)
    throw torn_value("a note without a kind");
  return static_cast<lending_note::kind>(kind);
}

} // namespace

std::string encode(const lending_note& x) {
  return bytes_written_by([&](value_writer& to) {
    to.number(static_cast<std::uint64_t>(x.what));
    to.text(x.version);
    to.number(x.cores);
    to.number(x.window);
    to.flag(x.has_data);
    to.text(x.text);
    to.number(x.offers.size());
    for (const auto offer : x.offers)
      to.number(offer);
  });
}

std::optional<lending_note> decode_lending_note(std::string_view bytes) {
  return read_whole(bytes, [](value_reader& from) {
    lending_note x;
    x.what = read_kind(from);
    x.version = from.text();
    x.cores = from.number(most_cores);
    x.window = from.number(most_window);
    x.has_data = from.flag();
    x.text = from.text();
    for (auto left = from.count(1, most_offers); left > 0; --left)
      x.offers.push_back(from.number());
    return x;
  });
}

std::string encode(const std::vector<offered_row>& rows) {
  return bytes_written_by([&](value_writer& to) {
    to.number(rows.size());
    for (const auto& x : rows) {
      to.text(x.request);
      to.text(x.records);
    }
  });
}

std::optional<std::vector<offered_row>> decode_offer(std::string_view bytes) {
  return read_whole(bytes, [](value_reader& from) {
    std::vector<offered_row> rows;
    for (auto left = from.count(2, most_offered_rows); left > 0; --left) {
      auto& x = rows.emplace_back();
      x.request = from.text();
      x.records = from.text();
    }
    return rows;
  });
}

std::string encode(const std::vector<answered_row>& rows) {
  return bytes_written_by([&](value_writer& to) {
    to.number(rows.size());
    for (const auto& x : rows) {
      to.number(x.index);
      to.flag(x.is_made);
      to.number(x.took);
      to.text(x.result);
    }
  });
}

std::string encode_not_made(std::size_t first, std::size_t end) {
  std::vector<answered_row> rows;
  for (auto i = first; i < end; ++i)
    rows.push_back({.index = i});
  return encode(rows);
}

std::optional<std::vector<answered_row>> decode_answer(std::string_view bytes) {
  return read_whole(bytes, [](value_reader& from) {
    std::vector<answered_row> rows;
    for (auto left = from.count(4, most_offered_rows); left > 0; --left) {
      auto& x = rows.emplace_back();
      x.index = from.number(most_offered_rows - 1);
      x.is_made = from.flag();
      x.took = std::min(from.number(), most_time);
      x.result = from.text();
    }
    return rows;
  });
}

} // namespace leat

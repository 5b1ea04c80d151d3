#include "runtime/lending/lending_messages.hpp"

#include "runtime/base/value_bytes.hpp"

#include <utility>

namespace leat {

namespace {

constexpr std::uint64_t most_cores = 1 << 16;
constexpr std::uint64_t most_window = std::uint64_t{1} << 40;
constexpr std::uint64_t most_rows = 1 << 20;

template <class Read>
auto read_all(std::string_view bytes, Read read)
    -> std::optional<decltype(read(std::declval<value_reader&>()))> try {
  value_reader from{bytes};
  auto x = read(from);
  from.end();
  return x;
} catch (const torn_value&) {
  return std::nullopt;
}

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
  return read_all(bytes, [](value_reader& from) {
    lending_note x;
    x.what = read_kind(from);
    x.version = from.text();
    x.cores = from.number(most_cores);
    x.window = from.number(most_window);
    x.has_data = from.flag();
    x.text = from.text();
    for (auto left = from.count(1, most_rows); left > 0; --left)
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
  return read_all(bytes, [](value_reader& from) {
    std::vector<offered_row> rows;
    for (auto left = from.count(2, most_rows); left > 0; --left) {
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

std::optional<std::vector<answered_row>> decode_answer(std::string_view bytes) {
  return read_all(bytes, [](value_reader& from) {
    std::vector<answered_row> rows;
    for (auto left = from.count(4, most_rows); left > 0; --left) {
      auto& x = rows.emplace_back();
      x.index = from.number(most_rows);
      x.is_made = from.flag();
      x.took = from.number(INT64_MAX);
      x.result = from.text();
    }
    return rows;
  });
}

} // namespace leat

#include "runtime/rows/row_codec.hpp"

#include "runtime/sample/stored_sample.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace leat {

namespace {

/// A pack has thousands of contents, an error as many lines as there are differences.
constexpr std::uint64_t most_parts = 65536;

const stored_sample* as_sample(const payload_ptr& x) {
  return dynamic_cast<const stored_sample*>(x.get());
}

void write_item(value_writer& to, const item& x) {
  to.text(x.bytes());
  to.number(x.uses().size());
  for (const auto& use : x.uses()) {
    to.number(use.feed);
    to.number(use.lowest);
    to.number(use.behind);
  }
  std::uint64_t contents = 0;
  x.visit_content([&](auto&&...) { ++contents; });
  to.number(contents);
  x.visit_content([&](std::size_t begin, std::size_t end, const payload_ptr& content) {
    to.number(begin);
    to.number(end);
    as_sample(content)->write(to);
  });
}

item read_item(value_reader& from) {
  std::string bytes{from.text()};
  const auto size = bytes.size();
  record_uses uses;
  for (auto left = from.count(3, most_parts); left > 0; --left) {
    record_use x;
    x.feed = static_cast<std::uint32_t>(from.number(UINT32_MAX));
    x.lowest = from.number();
    x.behind = from.number();
    uses.push_back(x);
  }
  auto x = item::from_bytes(std::move(bytes), std::move(uses));
  for (auto left = from.count(5, most_parts); left > 0; --left) {
    const auto begin = from.number(size);
    const auto end = from.number(size);
    if (end < begin)
      throw torn_value("a part of an item that ends before it begins");
    x.attach_restored(begin, end, stored_sample::read(from));
  }
  return x;
}

void write_hash(value_writer& to, const hash128& x) {
  to.as_it_is(x.high);
  to.as_it_is(x.low);
}

hash128 read_hash(value_reader& from) {
  hash128 x;
  from.as_it_is(x.high);
  from.as_it_is(x.low);
  return x;
}

void write_place(value_writer& to, const epoch_item& x) {
  to.number(x.item);
  to.number(x.epoch);
}

epoch_item read_place(value_reader& from) {
  epoch_item x;
  x.item = from.number();
  x.epoch = from.number();
  return x;
}

void write_outcome(value_writer& to, const row_result& x) {
  to.number(static_cast<std::uint64_t>(x.what));
  write_place(to, x.delivered);
  write_hash(to, x.digest);
  write_hash(to, x.pixels);
  to.number(x.given.size());
  for (const auto& given : x.given) {
    to.number(given.samples);
    to.number(given.cost);
  }
  to.flag(x.bad.has_value());
  if (x.bad)
    write_bad(to, *x.bad);
  to.flag(x.failure.has_value());
  if (x.failure)
    write_error(to, *x.failure);
  to.number(x.seen.found.number);
  to.text(x.seen.found.text);
  to.flag(x.seen.found.bad);
}

void read_outcome(value_reader& from, row_result& x) {
  x.clear();
  x.what = static_cast<row_result::outcome>(
      from.number(static_cast<std::uint64_t>(row_result::outcome::failed)));
  x.delivered = read_place(from);
  x.digest = read_hash(from);
  x.pixels = read_hash(from);
  for (auto left = from.count(2, most_parts); left > 0; --left) {
    input_count given;
    given.samples = from.number();
    given.cost = from.number();
    x.given.push_back(given);
  }
  if (from.flag())
    x.bad = read_bad(from);
  if (from.flag())
    x.failure = read_error(from);
  if (x.failure.has_value() != (x.what == row_result::outcome::failed))
    throw torn_value("a failure where the row has not failed, or none where it has");
  x.seen.found.number = from.number();
  x.seen.found.text = from.text();
  x.seen.found.bad = from.flag();
}

void read_fields(value_reader& from, const row_target& to) {
  const auto& fields = to.layout->fields();
  if (from.number() != fields.size())
    throw torn_value("another number of fields than the batch has");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto bytes = from.bytes();
    const auto& field = fields[i];
    if (field.ragged ? bytes.size() % field.unit_bytes() != 0 : bytes.size() != field.row_bytes())
      throw torn_value("a field of another size than the batch has");
    if (field.ragged) {
      to.ragged[i].assign(bytes);
      to.ragged[i].complete();
    } else {
      std::copy(bytes.begin(), bytes.end(), to.dense[i]);
    }
  }
}

/// What `read` reads from all of the bytes; nothing if they are something else.
template <class Read>
auto read_all(std::string_view bytes, Read read)
    -> std::optional<decltype(read(std::declval<value_reader&>()))> try {
  if (bytes.size() > most_row_bytes)
    return std::nullopt;
  value_reader from{bytes};
  auto x = read(from);
  from.end();
  return x;
} catch (const torn_value&) {
  return std::nullopt;
}

bool is_of(const job_plan& plan, const row_request& row) {
  if (row.edge && *row.edge >= plan.samples->edges.size())
    return false;
  return !plan.shape.is_indexed || (!row.edge && row.own.item < plan.shape.items);
}

} // namespace

bool can_travel(const row_request& row) {
  bool all_are_samples = !row.lane;
  row.what.visit_content([&](std::size_t, std::size_t, const payload_ptr& content) {
    all_are_samples = all_are_samples && as_sample(content);
  });
  return all_are_samples;
}

std::string encode(const row_request& row) {
  return bytes_written_by([&](value_writer& to) {
    to.number(row.epoch);
    to.number(row.position);
    write_place(to, row.own);
    to.number(row.when.epoch);
    to.number(static_cast<std::uint64_t>(row.when.pass));
    to.number(static_cast<std::uint64_t>(row.when.pass >> 64));
    to.number(row.edge ? *row.edge + 1 : 0);
    write_item(to, row.what);
  });
}

std::optional<row_request> decode_request(std::string_view bytes, const job_plan& plan) {
  auto found = read_all(bytes, [](value_reader& from) {
    row_request row;
    row.epoch = from.number();
    row.position = from.number();
    row.own = read_place(from);
    row.when.epoch = from.number();
    const pass_number low = from.number();
    row.when.pass = low | pass_number{from.number()} << 64;
    if (const auto edge = from.number(); edge > 0)
      row.edge = edge - 1;
    row.what = read_item(from);
    return row;
  });
  return found && is_of(plan, *found) ? std::move(found) : std::nullopt;
}

std::string encode(const row_result& result, const batch_layout& layout, const row_bytes& row) {
  return bytes_written_by([&](value_writer& to) {
    write_outcome(to, result);
    const bool has_fields = result.what == row_result::outcome::good;
    to.flag(has_fields);
    if (!has_fields)
      return;
    to.number(layout.fields().size());
    for (std::size_t i = 0; i < layout.fields().size(); ++i)
      to.bytes(row(i));
  });
}

std::string encode(const row_result& result) {
  return bytes_written_by([&](value_writer& to) {
    write_outcome(to, result);
    to.flag(false);
  });
}

bool decode_result(std::string_view bytes, const row_target* target, row_result& result) {
  const auto is_read = read_all(bytes, [&](value_reader& from) {
    read_outcome(from, result);
    const bool has_fields = from.flag();
    if (has_fields != (target && result.what == row_result::outcome::good))
      throw torn_value("fields where none belong, or none where they do");
    if (has_fields)
      read_fields(from, *target);
    return true;
  });
  return is_read.has_value();
}

void write_bad(value_writer& to, const bad_row& x) {
  to.number(x.position);
  to.text(x.id);
  to.number(static_cast<std::uint64_t>(x.why));
  to.text(x.text);
  to.flag(x.substitute.has_value());
  if (x.substitute)
    to.text(*x.substitute);
}

bad_row read_bad(value_reader& from) {
  bad_row x;
  x.position = from.number();
  x.id = from.text();
  x.why = static_cast<cause>(from.number(num_causes - 1));
  x.text = from.text();
  if (from.flag())
    x.substitute = std::string{from.text()};
  return x;
}

void write_error(value_writer& to, const error& x) {
  const auto& [stage, sample, file, offset, got, needed, list] = x.details();
  to.number(static_cast<std::uint64_t>(x.code()));
  for (const auto* text : {&stage, &sample, &file, &got, &needed})
    to.text(*text);
  to.flag(offset.has_value());
  to.number(offset.value_or(0));
  to.number(std::min<std::uint64_t>(list.size(), most_parts));
  for (std::size_t i = 0; i < list.size() && i < most_parts; ++i)
    to.text(list[i]);
}

error read_error(value_reader& from) {
  const auto code = from.number(static_cast<std::uint64_t>(errc::device));
  if (code == 0)
    throw torn_value("an error without a code");
  error_details x;
  for (auto* text : {&x.stage, &x.sample, &x.file, &x.got, &x.needed})
    *text = from.text();
  const bool has_offset = from.flag();
  const auto offset = from.number();
  if (has_offset)
    x.offset = offset;
  for (auto left = from.count(1, most_parts); left > 0; --left)
    x.list.emplace_back(from.text());
  return {static_cast<errc>(code), std::move(x)};
}

} // namespace leat

#include "runtime/sources/feed/feed_messages.hpp"

#include "runtime/base/value_bytes.hpp"

#include <utility>

namespace leat {

namespace {

constexpr std::size_t most_version = 64;
constexpr std::size_t most_failure = 4096;
constexpr std::uint64_t most_window = std::uint64_t{1} << 40;
/// Lanes, or records, in one message. A feed has a number for each lane.
constexpr std::uint64_t most_listed = 1 << 20;

/// Contents of so many bytes are not copied to be sent.
constexpr std::size_t least_uncopied = 8 << 10;

std::string_view short_text(value_reader& from, std::size_t most) {
  const auto text = from.text();
  if (text.size() > most)
    throw torn_value("a text that is too long");
  return text;
}

void write_numbers(value_writer& to, const std::vector<std::uint64_t>& numbers) {
  to.number(numbers.size());
  for (const auto x : numbers)
    to.number(x);
}

std::vector<std::uint64_t> read_numbers(value_reader& from) {
  std::vector<std::uint64_t> numbers(from.count(1, most_listed));
  for (auto& x : numbers)
    x = from.number(most_record_number);
  return numbers;
}

lanes_of_rank read_place(value_reader& from) {
  lanes_of_rank x;
  x.lanes = from.number(most_listed);
  x.world_size = from.number(x.lanes);
  x.rank = from.number();
  if (x.rank >= x.world_size)
    throw torn_value("a rank that its world does not have");
  return x;
}

feed_format read_format(value_reader& from) {
  const auto x = from.number(static_cast<std::uint64_t>(feed_format::samples));
  if (x == 0)
    throw torn_value("records without a format");
  return static_cast<feed_format>(x);
}

} // namespace

std::string summary_of(const feed_costs& x) {
  const auto ms = [](std::uint64_t ns) { return std::to_string(ns / 1'000'000) + " ms"; };
  return "has sent " + std::to_string(x.records_sent) + " records of "
         + std::to_string(x.bytes_sent) + " bytes to ranks; processors took " + ms(x.reading_ns)
         + " to read the source, and " + ms(x.sending_ns) + " to serve";
}

std::string encode(const feed_offer& x) {
  return bytes_written_by([&](value_writer& to) {
    to.text(x.version);
    to.text(x.stream.name);
    to.as_it_is(x.stream.id);
    to.as_it_is(x.process);
    to.number(static_cast<std::uint64_t>(x.format));
    to.flag(x.has_journal);
    to.number(x.first);
    to.number(x.next);
    to.flag(x.has_ended);
    to.text(std::string_view{x.failure}.substr(0, most_failure));
    for (const auto n :
         {x.costs.records_sent, x.costs.bytes_sent, x.costs.reading_ns, x.costs.sending_ns})
      to.number(n);
  });
}

std::optional<feed_offer> decode_feed_offer(std::string_view bytes) {
  return read_whole(bytes, [](value_reader& from) {
    feed_offer x;
    x.version = short_text(from, most_version);
    x.stream.name = short_text(from, most_feed_name);
    from.as_it_is(x.stream.id);
    from.as_it_is(x.process);
    x.format = read_format(from);
    x.has_journal = from.flag();
    x.first = from.number(most_record_number);
    x.next = from.number(most_record_number);
    x.has_ended = from.flag();
    x.failure = short_text(from, most_failure);
    for (auto* n :
         {&x.costs.records_sent, &x.costs.bytes_sent, &x.costs.reading_ns, &x.costs.sending_ns})
      *n = from.number();
    if (x.first > x.next)
      throw torn_value("records that end before they begin");
    return x;
  });
}

std::string encode(const feed_want& x) {
  return bytes_written_by([&](value_writer& to) {
    to.number(x.looks_below);
    to.number(x.place.lanes);
    to.number(x.place.world_size);
    to.number(x.place.rank);
    write_numbers(to, x.covered);
    to.number(x.window);
    to.number(x.used);
    to.flag(x.is_starved);
    write_numbers(to, x.fetch);
    write_numbers(to, x.urgent);
  });
}

std::optional<feed_want> decode_feed_want(std::string_view bytes) {
  return read_whole(bytes, [](value_reader& from) {
    feed_want x;
    x.looks_below = from.number(most_record_number);
    x.place = read_place(from);
    x.covered = read_numbers(from);
    if (x.covered.size() != x.place.size())
      throw torn_value("numbers of other lanes than the rank's");
    x.window = from.number(most_window);
    x.used = from.number();
    x.is_starved = from.flag();
    x.fetch = read_numbers(from);
    x.urgent = read_numbers(from);
    return x;
  });
}

void feed_record_writer::add(const feed_record& x, std::shared_ptr<const void> owner) {
  to_.number(x.number);
  if (owner && x.content.size() >= least_uncopied) {
    to_.number(x.content.size());
    large_.push_back({to_.size(), x.content, std::move(owner)});
  } else {
    to_.text(x.content);
  }
  ++records_;
  bytes_ += x.content.size();
}

feed_payload feed_record_writer::take() {
  struct holder {
    std::string head;
    std::string encoded;
    std::vector<large> contents;
  };
  auto all = std::make_shared<holder>();
  all->head = bytes_written_by([&](value_writer& to) { to.number(records_); });
  const auto size = to_.size();
  all->encoded = room_.take(size);
  all->contents = std::move(large_);
  feed_payload x{.parts = {std::span{all->head}}};
  const std::span encoded{all->encoded};
  std::size_t done = 0;
  for (const auto& each : all->contents) {
    x.parts.push_back(encoded.subspan(done, each.after - done));
    x.parts.emplace_back(each.content);
    done = each.after;
  }
  if (done < size)
    x.parts.push_back(encoded.subspan(done));
  x.owner = std::move(all);
  return x;
}

std::string encode(const std::vector<feed_record>& records) {
  feed_record_writer all;
  for (const auto& x : records)
    all.add(x);
  std::string bytes;
  for (const auto& part : all.take().parts)
    bytes.append(part.data(), part.size());
  return bytes;
}

std::optional<std::vector<feed_record>> decode_feed_records(std::string_view bytes) {
  return read_whole(bytes, [](value_reader& from) {
    std::vector<feed_record> records;
    for (auto left = from.count(2, most_listed); left > 0; --left) {
      auto& x = records.emplace_back();
      x.number = from.number(most_record_number);
      x.content = short_text(from, most_record_bytes);
    }
    return records;
  });
}

} // namespace leat

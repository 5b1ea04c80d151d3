#include "runtime/feeding/feed_settings.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/network/address.hpp"
#include "runtime/network/links/link_hello.hpp"
#include "runtime/sources/feed/feed_source.hpp"
#include "runtime/sources/feed/placed_input.hpp"
#include "runtime/sources/journal/journal.hpp"
#include "runtime/sources/live/memory_records.hpp"

#include <leat/notice.hpp>

#include <random>
#include <utility>

namespace leat {

namespace {

constexpr std::uint64_t least_feed_memory = std::uint64_t{16} << 20;

feed_format format_of(const once_input& x) {
  if (const auto* placed = dynamic_cast<const placed_input*>(&x))
    return placed->content_format();
  return x.format() == record_format::lines ? feed_format::lines : feed_format::samples;
}

hash128 random_id() {
  std::random_device random;
  const auto half = [&] { return std::uint64_t{random()} << 32 | random(); };
  const auto low = half();
  return {.low = low, .high = half()};
}

} // namespace

feed_settings checked(feed_settings x) {
  if (x.role == link_role::feed)
    check_feed_name(x.name, "feed.name");
  if (!x.join.empty() || x.role == link_role::feed)
    (void)parse_address(x.join, "feed.join");
  if (x.memory < least_feed_memory)
    refuse_argument("feed.memory", std::to_string(x.memory) + " bytes", "at least 16 MiB");
  if (!x.log)
    x.log = [](const std::string& text) { notice("feed: " + text); };
  return x;
}

feed_offer feed_records::offer() const {
  return {.version = own_version(),
          .stream = identity.stream,
          .process = process,
          .format = identity.format,
          .has_journal = has_journal,
          .first = store->first(),
          .next = store->next(),
          .has_ended = identity.ended_at.has_value()};
}

feed_records::found feed_records::read(std::uint64_t number, sample& holds) const {
  auto [owner, text] = store->share(number);
  if (!owner) {
    const auto bytes = store->read(number, holds);
    text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  if (!identity.has_places)
    return {{.content = text}, std::move(owner)};
  const auto placed = split_placed(text);
  if (!placed)
    throw_error(errc::mismatch, "feed's journal", "a record without a place",
                "the journal of a queue's feed, or an empty directory");
  return {*placed, std::move(owner)};
}

feed_records open_records(const feed_settings& x) {
  feed_records made{
      .identity = {.stream = {x.name, random_id()},
                   .format = format_of(*x.input),
                   .has_places = dynamic_cast<const placed_input*>(x.input.get()) != nullptr},
      .process = random_id(),
      .has_journal = !x.journal.empty()};
  if (!made.has_journal) {
    made.store = std::make_unique<memory_records>();
    return made;
  }
  made.store = std::make_unique<journal>(
      x.journal,
      journal_format{.format = x.input->format(), .file_bytes = x.file_bytes, .sync = x.sync});
  made.identity = identity_in(x.journal, made.identity, made.store->next(), x.takes_over);
  return made;
}

} // namespace leat

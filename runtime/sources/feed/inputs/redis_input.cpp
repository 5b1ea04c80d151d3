#include "runtime/sources/feed/inputs/redis_input.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/sources/feed/inputs/redis_entries.hpp"
#include "runtime/sources/feed/inputs/redis_talk.hpp"

#include <leat/sample.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace leat {

namespace {

/// How much a read is to bring: entries are asked for by their number, so their size is guessed
/// from those before.
constexpr std::size_t redis_bytes_per_read = std::size_t{4} << 20;
constexpr std::size_t most_redis_entries = 1000;
constexpr std::size_t most_redis_acknowledged_at_once = 1000;
constexpr std::chrono::milliseconds redis_pause{10'000};
constexpr auto redis_parameters =
    "group, consumer, field, db, patience, and of rediss:// also ca, cert, key";

/// How many entries to ask for: twice as many each time, as long as they are small.
class redis_entry_count {
public:
  std::size_t now() const noexcept { return now_; }
  void was_too_many() noexcept { now_ = 1; }
  void came(std::size_t entries, std::size_t bytes) noexcept {
    if (entries == 0)
      return;
    const auto fit = redis_bytes_per_read / std::max<std::size_t>(bytes / entries, 1);
    now_ = std::clamp<std::size_t>(std::min(fit, 2 * now_), 1, most_redis_entries);
  }

private:
  std::size_t now_ = 16;
};

std::size_t redis_bytes_of(const redis_entry& x) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : x.fields)
    bytes += name.size() + value.size();
  return bytes;
}

} // namespace

class redis_stream_input : public feed_input {
public:
  explicit redis_stream_input(redis_stream from) : from_(std::move(from)) {}

  const std::string& name() const override { return from_.at.name; }
  feed_format format() const override {
    return from_.field.empty() ? feed_format::samples : feed_format::lines;
  }
  std::unique_ptr<feed_reader> begin(const std::string& last) override;

private:
  class reader;
  const redis_stream from_;
};

class redis_stream_input::reader : public feed_reader {
public:
  reader(const redis_stream& from, std::optional<redis_entry_id> last)
      : from_(from), at_(last), reading_(
                                    from.at,
                                    [this](queue_connection& x) {
                                      auto talk = greeted(x);
                                      find_place(talk);
                                    },
                                    stop_),
        acknowledging_(
            from.at, [this](queue_connection& x) { greeted(x); }, stop_) {}

  bool take(const std::function<void(const placed_record&)>& add) override {
    return reading_.do_connected([&](queue_connection& x) {
      redis_talk talk{x, from_.at.name};
      try {
        while (!take_new(talk, add))
          wait_for_new(talk);
      } catch (const redis_reply_too_large&) {
        if (count_.now() == 1)
          refuse_size(talk);
        count_.was_too_many();
        throw;
      }
    });
  }

  bool acknowledge(std::span<const std::string> places) override {
    while (!places.empty()) {
      const auto some = places.first(std::min(places.size(), most_redis_acknowledged_at_once));
      std::vector<std::string_view> words{"XACK", from_.stream, from_.group};
      words.insert(words.end(), some.begin(), some.end());
      if (!acknowledging_.do_connected([&](queue_connection& x) {
            redis_talk{x, from_.at.name}.demand(words);
          }))
        return false;
      places = places.subspan(some.size());
    }
    return true;
  }

  void interrupt() noexcept override { stop_.set(); }

private:
  redis_talk greeted(queue_connection& x) {
    if (from_.at.tls)
      x.secure(from_.at.tls);
    redis_talk talk{x, from_.at.name};
    greet_redis(talk, from_.user, from_.password, from_.database);
    return talk;
  }

  /// The group stands where this does afterwards, whatever it was given on connections before.
  void find_place(redis_talk& talk) {
    check_has_not_lost(talk);
    const auto begin = at_ ? to_string(*at_) : std::string{"0"};
    const auto made = talk.ask({"XGROUP", "CREATE", from_.stream, from_.group, begin, "MKSTREAM"});
    if (made.is_error() && !made.is_error("BUSYGROUP"))
      talk.refuse(made);
    const auto group = own_group(talk.demand({"XINFO", "GROUPS", from_.stream}), talk);
    const auto pending = redis_pending_of(talk.demand({"XPENDING", from_.stream, from_.group}));
    if (pending)
      check_is_alone(*pending, talk);
    if (!at_)
      at_ = pending ? before(pending->first) : group.delivered;
    if (pending)
      check_has_pending(talk);
    if (group.delivered != *at_)
      talk.demand({"XGROUP", "SETID", from_.stream, from_.group, to_string(*at_)});
  }

  /// A stream that ends before the last entry that was read is not the one that had it.
  void check_has_not_lost(redis_talk& talk) const {
    if (!at_)
      return;
    const auto info = talk.ask({"XINFO", "STREAM", from_.stream});
    if (info.is_error() && !info.is_error("ERR no such key"))
      talk.refuse(info);
    const auto* end = info.find("last-generated-id");
    const auto last = end ? parse_redis_entry_id(end->bytes) : std::nullopt;
    if (!last || *last < *at_)
      talk.refuse("a stream whose last id is " + (last ? to_string(*last) : "none")
                      + ", though entry " + to_string(*at_) + " was read",
                  "the stream with all that was added: a server that keeps it on its disk "
                  "(appendonly yes); for another stream, a journal of its own");
  }

  redis_group own_group(const redis_reply& all, const redis_talk& talk) const {
    const auto group = redis_group_of(all, from_.group);
    if (!group)
      talk.refuse("an answer to XINFO GROUPS without the group " + excerpt(from_.group),
                  "a Redis server from version 5 on");
    return *group;
  }

  void check_is_alone(const redis_pending& pending, const redis_talk& talk) const {
    for (const auto& x : pending.consumers)
      if (x != from_.consumer)
        talk.refuse("entries that the consumer " + excerpt(x) + " of the group "
                        + excerpt(from_.group) + " has and has not acknowledged",
                    "a group for this feed alone (group=), or its former consumer= name");
  }

  /// What was given to this group after the place, and was not kept, must still be there: a trimmed
  /// stream has lost its beginning first.
  void check_has_pending(redis_talk& talk) {
    const auto from = to_string(after(*at_));
    const auto first =
        talk.demand({"XPENDING", from_.stream, from_.group, from, "+", "1", from_.consumer});
    if (first.items.empty() || first.items[0].items.empty())
      return;
    const std::string id{first.items[0].items[0].bytes};
    if (!is_there(id, talk))
      talk.refuse("entry " + id + ", which was removed from the stream before it was kept",
                  "a stream that is trimmed no further than what is acknowledged; to go on without "
                  "what was removed: XACK for it");
  }

  bool is_there(const std::string& id, redis_talk& talk) const try {
    return !talk.demand({"XRANGE", from_.stream, id, id}).items.empty();
  } catch (const redis_reply_too_large&) {
    refuse_size(talk); // another connection would not be told less
  }

  [[noreturn]] static void refuse_size(const redis_talk& talk) {
    talk.refuse("an entry that is larger than what is read at once",
                "entries of at most " + std::to_string(most_record_bytes) + " bytes");
  }

  bool take_new(redis_talk& talk, const std::function<void(const placed_record&)>& add) {
    const auto count = std::to_string(count_.now());
    const auto replies = talk.demand_together({{"XINFO", "GROUPS", from_.stream},
                                               {"XLEN", from_.stream},
                                               {"XREADGROUP", "GROUP", from_.group, from_.consumer,
                                                "COUNT", count, "STREAMS", from_.stream, ">"}});
    const auto group = own_group(replies[0], talk);
    if (group.delivered != *at_)
      leave_to_another(group.delivered, talk);
    const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(replies[1].number, 0));
    if (group.lag && length < *group.lag && counts_hold_) {
      judge_missing(*group.lag - length, group, talk);
      return take_new(talk, add);
    }
    const auto entries = redis_entries_of(replies[2]);
    if (!entries)
      talk.refuse("an answer to XREADGROUP that has no entries",
                  "a Redis server from version 5 on");
    std::size_t bytes = 0;
    for (const auto& x : *entries) {
      bytes += redis_bytes_of(x);
      add_one(x, talk, add);
    }
    count_.came(entries->size(), bytes);
    return !entries->empty();
  }

  /// There are fewer entries than the server says were not read. Where single ones were deleted,
  /// its counts do not hold, and that is no loss: somebody has chosen them.
  void judge_missing(std::uint64_t entries, const redis_group& group, redis_talk& talk) {
    const auto at = to_string(*at_);
    const auto info = talk.demand({"XINFO", "STREAM", from_.stream});
    const auto* deleted = info.find("max-deleted-entry-id");
    counts_hold_ = deleted && deleted->bytes == "0-0";
    const auto read = std::to_string(group.read.value_or(0));
    std::vector<std::string_view> words{"XGROUP", "SETID", from_.stream, from_.group, at};
    if (counts_hold_ && group.read)
      words.insert(words.end(), {"ENTRIESREAD", read}); // so that a restart does not hide the loss
    talk.demand(words);
    if (counts_hold_)
      talk.refuse(std::to_string(entries) + " entries after " + at
                      + " that the stream has lost before this read them",
                  "a stream that is trimmed no further than what is acknowledged; to go on without "
                  "what is lost: XGROUP SETID "
                      + from_.stream + ' ' + from_.group + ' ' + at);
  }

  /// What another reader was given is read by this one, when it begins again.
  [[noreturn]] void leave_to_another(const redis_entry_id& delivered, redis_talk& talk) {
    talk.demand({"XGROUP", "SETID", from_.stream, from_.group, to_string(*at_)});
    talk.refuse("another process that reads with the group " + excerpt(from_.group)
                    + ": it was given entries up to " + to_string(delivered) + ", this one up to "
                    + to_string(*at_),
                "a group for this feed alone (group=)");
  }

  void add_one(const redis_entry& x, const redis_talk& talk,
               const std::function<void(const placed_record&)>& add) {
    if (x.id <= *at_)
      return;
    const auto place = to_string(x.id);
    add({.place = place, .content = content_of(x, talk)});
    at_ = x.id;
  }

  std::string_view content_of(const redis_entry& x, const redis_talk& talk) {
    if (from_.field.empty()) {
      sample fields;
      for (const auto& [name, value] : x.fields)
        fields.set(name, value);
      return bytes_ = bytes_of(fields);
    }
    for (const auto& [name, value] : x.fields)
      if (name == from_.field)
        return value;
    talk.refuse(
        "entry " + to_string(x.id) + ", which has no field " + excerpt(from_.field),
        "entries that have it; without field= a record is a sample with all fields, and one "
        "that lacks some is a bad sample");
  }

  /// Asks for an entry without the group, so that it is given to nobody while this waits.
  void wait_for_new(redis_talk& talk) {
    const auto pause = std::to_string(redis_pause.count());
    const auto reply =
        talk.ask({"XREAD", "COUNT", "1", "BLOCK", pause, "STREAMS", from_.stream, to_string(*at_)},
                 redis_pause);
    if (reply.is_error())
      talk.refuse(reply);
  }

  const redis_stream& from_;
  const wake_event stop_;
  /// The last entry that was added, or was acknowledged before; nothing until the server is asked.
  std::optional<redis_entry_id> at_;
  redis_entry_count count_;
  bool counts_hold_ = true;
  std::string bytes_;
  queue_session reading_;
  queue_session acknowledging_;
};

std::unique_ptr<feed_reader> redis_stream_input::begin(const std::string& last) {
  const auto id = parse_redis_entry_id(last);
  if (!id && !last.empty())
    throw_file_error(errc::mismatch, "feed's input", from_.at.name,
                     "a journal whose last record has the place " + excerpt(last),
                     "a journal of this stream: places are ids of entries, 1526919030474-55");
  return std::make_unique<reader>(from_, id);
}

redis_stream redis_stream_of(queue_address from, const queue_environment& variable) {
  redis_stream x;
  x.at = take_place(from, "rediss");
  x.stream = from.path;
  x.group = take_parameter(from, "group", "leat");
  x.consumer = take_parameter(from, "consumer", "feed");
  x.field = take_parameter(from, "field", "");
  const auto database = take_parameter(from, "db", "0");
  const auto [end, problem] =
      std::from_chars(database.data(), database.data() + database.size(), x.database);
  if (problem != std::errc{} || end != database.data() + database.size())
    refuse_address(from, "db=" + excerpt(database), "the number of a database");
  refuse_parameters(from, redis_parameters);
  if (x.stream.empty() || x.group.empty() || x.consumer.empty())
    refuse_address(from, "no name of a stream, a group or a consumer",
                   "redis://HOST/STREAM?group=GROUP&consumer=CONSUMER");
  x.user = from.user;
  x.password = from.password;
  if (x.password.is_empty())
    x.password = secret{variable("REDISCLI_AUTH")};
  return x;
}

std::shared_ptr<feed_input> redis_input(redis_stream from) {
  return std::make_shared<redis_stream_input>(std::move(from));
}

} // namespace leat

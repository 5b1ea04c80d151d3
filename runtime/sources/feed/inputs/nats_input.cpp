#include "runtime/sources/feed/inputs/nats_input.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/sources/feed/inputs/nats_answers.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace leat {

namespace {

constexpr unsigned nats_no_such = 404;
constexpr unsigned nats_timeout = 408;
constexpr unsigned nats_conflict = 409;
constexpr auto nats_parameters = "consumer, subject, patience, and of tls:// also ca, cert, key";
/// How much is asked for at once, and by how large a message this may be exceeded.
constexpr auto nats_pull_now = R"({"batch":1000,"max_bytes":4194304,"no_wait":true})";
constexpr std::size_t nats_pull_size = 1000;
constexpr std::size_t nats_stored_bytes_per_take = std::size_t{4} << 20;
constexpr auto nats_pull_next = R"({"batch":1,"expires":30000000000})";
/// What a small message counts besides its bytes.
constexpr std::size_t bytes_besides_payload = 1024;
constexpr std::chrono::seconds nats_pull_pause{30};
constexpr std::chrono::seconds nats_pull_patience{10};
constexpr std::size_t most_nats_acknowledged_at_once = 1000;
/// A message that is not acknowledged is given again after this long (in ns), and passed over here.
/// Acknowledgements wait for snapshots, so it is long; and they must not hold up further messages.
constexpr auto nats_consumer_rules =
    R"("ack_policy":"explicit","ack_wait":86400000000000,"max_ack_pending":-1,"max_deliver":-1,)"
    R"("replay_policy":"instant")";

std::string nats_quoted(std::string_view text) {
  return '"' + json_escaped(text) + '"';
}

/// A name as subjects have it.
bool is_nats_name(std::string_view text) {
  return !text.empty() && text.find_first_of(" \t\r\n.*>/\\") == text.npos;
}

/// Numbers of messages, as places have them.
std::optional<std::uint64_t> nats_place_of(std::string_view text) {
  std::uint64_t x = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (problem != std::errc{} || end != text.data() + text.size() || x == 0)
    return std::nullopt;
  return x;
}

} // namespace

class nats_stream_input : public feed_input {
public:
  explicit nats_stream_input(nats_stream from) : from_(std::move(from)) {}

  const std::string& name() const override { return from_.at.name; }
  feed_format format() const override { return feed_format::lines; }
  std::unique_ptr<feed_reader> begin(const std::string& last) override;

private:
  class reader;
  const nats_stream from_;
};

class nats_stream_input::reader : public feed_reader {
public:
  reader(const nats_stream& from, std::optional<std::uint64_t> last)
      : from_(from), at_(last),
        reading_(
            from.at, [this](queue_connection& x) { find_place(greeted(x, inbox_)); }, stop_),
        acknowledging_(
            from.at, [this](queue_connection& x) { greeted(x, acknowledged_inbox_); }, stop_) {}

  bool take(const std::function<void(const placed_record&)>& add) override {
    return reading_.do_connected([&](queue_connection& x) {
      auto talk = on(x, inbox_);
      // What was given to a connection before this one, and was not added.
      if (take_stored(talk, delivered_ + 1, nats_stored_bytes_per_take, add))
        return;
      while (!pull(talk, nats_pull_now, nats_pull_size, {}, add)
             && !pull(talk, nats_pull_next, 1, nats_pull_pause, add)) {
      }
    });
  }

  bool acknowledge(std::span<const std::string> places) override {
    while (!places.empty()) {
      const auto some = places.first(std::min(places.size(), most_nats_acknowledged_at_once));
      if (!acknowledging_.do_connected([&](queue_connection& x) { acknowledge_some(x, some); }))
        return false;
      if (const auto last = nats_place_of(some.back()))
        acknowledged_ = std::max<std::uint64_t>(acknowledged_, *last);
      places = places.subspan(some.size());
    }
    return true;
  }

  void interrupt() noexcept override { stop_.set(); }

private:
  using adder = std::function<void(const placed_record&)>;

  nats_talk on(queue_connection& x, const std::string& inbox) const {
    return {x, from_.at.name, inbox};
  }
  nats_talk greeted(queue_connection& x, const std::string& inbox) const {
    auto talk = on(x, inbox);
    talk.greet(from_.login, from_.at.tls);
    return talk;
  }

  std::string consumer_subject(std::string_view call) const {
    return "$JS.API.CONSUMER." + std::string{call} + '.' + from_.stream + '.' + from_.consumer;
  }

  // ---- where to begin

  void find_place(nats_talk talk) {
    const auto subject = "$JS.API.STREAM.INFO." + from_.stream;
    const auto answer = talk.ask(subject, {});
    const auto stream = nats_stream_state_of(answer.value_or(""));
    if (!stream)
      talk.refuse("an answer to " + subject + " that is none", "a NATS server with JetStream");
    const auto own = consumer(talk);
    if (!at_)
      at_ = own.acknowledged;
    check_has_not_lost(*stream, talk);
    delivered_ = own.delivered;
    in_consumer_ = 0;
  }

  /// The consumer, which is made where there is none.
  nats_consumer_state consumer(nats_talk& talk) const {
    auto answer = talk.ask(consumer_subject("INFO"), {}, nats_no_such);
    if (!answer)
      answer = talk.ask(consumer_subject("DURABLE.CREATE"), consumer_wish());
    const auto own = nats_consumer_state_of(*answer);
    if (!own || own->is_pushed_to || own->acknowledges != "explicit" || own->most_pending > 0
        || own->filter != from_.filter)
      talk.refuse(
          "the consumer " + excerpt(from_.consumer) + ", which was made with other settings",
          "a consumer that leat makes itself (consumer= with a new name), or a pull consumer "
          "with explicit acknowledgements, max_ack_pending -1, and the filter subject= of "
          "the address");
    return *own;
  }

  std::string consumer_wish() const {
    std::string text = R"({"stream_name":)" + nats_quoted(from_.stream)
                       + R"(,"config":{"durable_name":)" + nats_quoted(from_.consumer) + ','
                       + nats_consumer_rules;
    if (!from_.filter.empty())
      text += R"(,"filter_subject":)" + nats_quoted(from_.filter);
    if (at_)
      text +=
          R"(,"deliver_policy":"by_start_sequence","opt_start_seq":)" + std::to_string(*at_ + 1);
    else
      text += R"(,"deliver_policy":"all")";
    return text + "}}";
  }

  /// A stream that ends before the last message that was read is not the one that had it. One that
  /// begins after what comes next has lost that, where all messages are this feed's.
  void check_has_not_lost(const nats_stream_state& stream, const nats_talk& talk) const {
    if (stream.last < *at_)
      talk.refuse("a stream whose last message is " + std::to_string(stream.last)
                      + ", though message " + std::to_string(*at_) + " was read",
                  "the stream with all that was added; for another stream, a journal and a "
                  "consumer= of its own");
    if (*at_ > 0 && from_.filter.empty() && stream.first > *at_ + 1)
      talk.refuse("a stream whose first message is " + std::to_string(stream.first)
                      + ": those after " + std::to_string(*at_)
                      + " were removed before this read them",
                  "limits of the stream that keep what is not acknowledged; to go on without what "
                  "is lost, another consumer= and an empty journal");
  }

  // ---- reading

  /// Adds what the stream has after the place and before this number. It comes one by one, for it
  /// was given to the consumer before. Ends early after about so many bytes. Whether there was
  /// anything.
  bool take_stored(nats_talk& talk, std::uint64_t below, std::size_t most, const adder& add) {
    bool has_added = false;
    std::size_t bytes = 0;
    const auto filter = nats_quoted(from_.filter.empty() ? ">" : from_.filter);
    while (*at_ + 1 < below && bytes < most) {
      const auto answer =
          talk.ask("$JS.API.STREAM.MSG.GET." + from_.stream,
                   R"({"seq":)" + std::to_string(*at_ + 1) + R"(,"next_by_subj":)" + filter + '}',
                   nats_no_such);
      if (!answer)
        break;
      const auto x = nats_stored_of(*answer);
      if (!x || x->sequence <= *at_)
        talk.refuse("a message that was asked for and is none", "a NATS server from 2.9 on");
      if (x->sequence >= below)
        break;
      add_one(x->sequence, x->payload, add);
      bytes += x->payload.size() + bytes_besides_payload;
      has_added = true;
    }
    return has_added;
  }

  /// Asks for messages and adds those that come. Whether there was one.
  bool pull(nats_talk& talk, const char* wish, std::size_t most, std::chrono::seconds pause,
            const adder& add) {
    const auto number = next_nats_number();
    const auto to = talk.inbox(number);
    talk.send(consumer_subject("MSG.NEXT"), number, wish);
    bool has_added = false;
    for (std::size_t came = 0; came < most;) {
      const auto x = talk.next(std::chrono::steady_clock::now() + pause + nats_pull_patience);
      if (!x)
        throw queue_lost("a consumer that does not answer");
      if (x->subject == to && x->status() != 0) {
        check_status(*x);
        break;
      }
      if (const auto delivery = nats_delivery_of(x->reply)) {
        ++came;
        has_added = take_delivered(talk, *x, *delivery, add) || has_added;
      }
    }
    return has_added;
  }

  /// There are no more for now, or the next one is so large that it has to be asked for alone;
  /// anything else says that the consumer is not what it was.
  static void check_status(const nats_message& x) {
    const bool is_too_large =
        x.status() == nats_conflict && x.header.find("MaxBytes") != x.header.npos;
    if (x.status() != nats_no_such && x.status() != nats_timeout && !is_too_large)
      throw queue_lost("a consumer that was removed or changed, or a server that stops");
  }

  bool take_delivered(nats_talk& talk, const nats_message& x, const nats_delivery& delivery,
                      const adder& add) {
    const bool is_next =
        in_consumer_ != 0 && delivery.times == 1 && delivery.in_consumer == in_consumer_ + 1;
    in_consumer_ = delivery.in_consumer;
    delivered_ = std::max(delivered_, delivery.sequence);
    if (delivery.sequence <= *at_) {
      if (delivery.sequence <= acknowledged_) // it was acknowledged before it was given again
        talk.send_bytes(nats_publication(x.reply, {}, {}));
      return false;
    }
    if (is_next || delivery.sequence == *at_ + 1) {
      add_one(delivery.sequence, x.payload, add);
      return true;
    }
    // Some may have been given to an earlier connection, or to another process.
    const std::string payload{x.payload};
    take_stored(talk, delivery.sequence, std::numeric_limits<std::size_t>::max(), add);
    add_one(delivery.sequence, payload, add);
    return true;
  }

  void add_one(std::uint64_t sequence, std::string_view payload, const adder& add) {
    add({.place = std::to_string(sequence), .content = payload});
    at_ = sequence;
  }

  /// Returns once the server has confirmed the last one, and with it all before.
  void acknowledge_some(queue_connection& x, std::span<const std::string> places) const {
    auto talk = on(x, acknowledged_inbox_);
    const auto subject = [&](const std::string& place) {
      return "$JS.ACK." + from_.stream + '.' + from_.consumer + ".1." + place + ".1.1.0";
    };
    std::string text;
    for (const auto& place : places.first(places.size() - 1))
      text += nats_publication(subject(place), {}, {});
    talk.send_bytes(text);
    talk.ask(subject(places.back()), {});
  }

  const nats_stream& from_;
  const wake_event stop_;
  const std::string inbox_ = new_nats_inbox();
  const std::string acknowledged_inbox_ = new_nats_inbox();
  /// The last message that was added, or up to which all were acknowledged before; nothing until
  /// the server is asked.
  std::optional<std::uint64_t> at_;
  /// The last one that the consumer was given, as far as this knows.
  std::uint64_t delivered_ = 0;
  /// The consumer's number of the last one that came on this connection.
  std::uint64_t in_consumer_ = 0;
  /// By this process.
  std::atomic<std::uint64_t> acknowledged_ = 0;
  queue_session reading_;
  queue_session acknowledging_;
};

std::unique_ptr<feed_reader> nats_stream_input::begin(const std::string& last) {
  const auto place = nats_place_of(last);
  if (!place && !last.empty())
    throw_file_error(errc::mismatch, "feed's input", from_.at.name,
                     "a journal whose last record has the place " + excerpt(last),
                     "a journal of this stream: places are numbers of messages");
  return std::make_unique<reader>(from_, place);
}

nats_stream nats_stream_of(queue_address from, const queue_environment& variable) {
  nats_stream x;
  x.at = take_place(from, "tls");
  x.stream = from.path;
  x.consumer = take_parameter(from, "consumer", "leat");
  x.filter = take_parameter(from, "subject", "");
  refuse_parameters(from, nats_parameters);
  if (!is_nats_name(x.stream) || !is_nats_name(x.consumer))
    refuse_address(
        from, "no name of a stream or a consumer",
        "nats://HOST/STREAM?consumer=CONSUMER; names have no spaces and none of . * > /");
  if (from.user.is_empty() && !from.password.is_empty())
    refuse_address(from, "a password without a user",
                   "nats://USER:PASSWORD@HOST/STREAM or nats://TOKEN@HOST/STREAM");
  x.login = {from.user, from.password};
  if (x.login.user.is_empty())
    x.login = {secret{variable("NATS_USER")}, secret{variable("NATS_PASSWORD")}};
  return x;
}

std::shared_ptr<feed_input> nats_input(nats_stream from) {
  return std::make_shared<nats_stream_input>(std::move(from));
}

} // namespace leat

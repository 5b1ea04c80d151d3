#include "actors/caf/link.hpp"

#include "runtime/cluster/message_codec.hpp"
#include "runtime/network/links/frame_reader.hpp"
#include "runtime/network/links/link_error.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/receive_policy.hpp>
#include <caf/io/system_messages.hpp>
#include <caf/io/typed_broker.hpp>
#include <caf/send.hpp>
#include <caf/typed_response_promise.hpp>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace leat {

namespace {

/// What is received at a time.
constexpr std::size_t bytes_per_read = 64 << 10;
/// Beside a coordinator, a peer is cut off that leaves so much unread: words have some hundred
/// bytes. To the coordinator larger things are on their way, such as the parts of snapshots.
constexpr std::size_t most_unsent_to_peers = 1 << 20;
constexpr std::size_t most_unsent_to_coordinator = 8 << 20;
/// What a peer may have said that the coordinator has not handled yet. A rank waits for answers
/// before it says more; a coordinator that waits for its disk has a few messages of each. What
/// observers ask takes longer to answer.
constexpr std::size_t most_unheard = 1024;
constexpr std::size_t most_unheard_questions = 64;
constexpr std::size_t most_unheard_bytes = 8 << 20;
/// After so much the coordinator answers that it has handled it, and all before it.
constexpr std::size_t confirmed_messages = 16;
constexpr std::size_t confirmed_bytes = 1 << 20;

/// How long a peer may take to receive the last words.
constexpr std::chrono::milliseconds leave_patience{500};

/// What an actor of the other process would take, on both sides, and the socket.
using link_actor = caf::typed_actor<
    caf::reacts_to<caf::io::new_data_msg>, caf::reacts_to<caf::io::data_transferred_msg>,
    caf::reacts_to<caf::io::connection_closed_msg>, caf::reacts_to<cluster_hello>,
    caf::reacts_to<cluster_beat>, caf::reacts_to<cluster_part>,
    caf::reacts_to<stored_atom, std::uint64_t, std::uint64_t, std::string>,
    caf::replies_to<look_atom, std::string>::with<cluster_status>, caf::reacts_to<cluster_word>,
    caf::reacts_to<say_atom>, caf::reacts_to<tick_atom>>;

struct traffic {
  std::size_t messages = 0;
  std::size_t bytes = 0;

  traffic& operator+=(const traffic& x) noexcept {
    messages += x.messages;
    bytes += x.bytes;
    return *this;
  }
  traffic& operator-=(const traffic& x) noexcept {
    messages -= x.messages;
    bytes -= x.bytes;
    return *this;
  }
};

/// For whom a link speaks: one of the two.
struct link_place {
  /// Beside the coordinator.
  coordinator_actor coordinator = {};
  secret token = {};
  /// At the process that has dialed it; null for an observer.
  member_actor local = {};
  link_role role = link_role::rank;
  gate_token alive = {};
};

class link_broker final : public link_actor::broker_base {
public:
  link_broker(caf::actor_config& config, std::shared_ptr<connected_peer> peer, link_place place)
      : link_actor::broker_base(config), peer_(std::move(peer)), place_(std::move(place)),
        reader_(place_.coordinator ? rules_from(peer_->role) : rules_to(place_.role)) {}

protected:
  behavior_type make_behavior() override {
    begin();
    return {
        [this](const caf::io::new_data_msg& x) {
          guarded([&] { receive({x.buf.data(), x.buf.size()}); });
        },
        [this](const caf::io::data_transferred_msg& x) { hear_sent(x.remaining); },
        [this](const caf::io::connection_closed_msg&) {
          is_open_ = false;
          give_up();
          quit(caf::exit_reason::remote_link_unreachable);
        },
        [this](const cluster_hello& x) { say(frame_kind::join, x); },
        [this](const cluster_beat& x) { say(frame_kind::beat, x); },
        [this](const cluster_part& x) { say(frame_kind::part, x); },
        [](stored_atom, std::uint64_t, std::uint64_t, const std::string&) {}, // not from here
        [this](look_atom, const std::string&) { return ask(); },
        [this](const cluster_word& x) { say(frame_kind::word, x); },
        [this](say_atom) { guarded([&] { receive({}); }); },
        [this](tick_atom) { has_unsent_ ? reset() : cut(); },
    };
  }

private:
  void begin() {
    handle_ = add_scribe(peer_->socket.release());
    is_open_ = true;
    // At most, and not exactly: frames are put together here. Reading is never halted, since CAF
    // loses what has come by then.
    configure_read(handle_, caf::io::receive_policy::at_most(bytes_per_read));
    ack_writes(handle_, true);
    set_down_handler([this](const caf::down_msg&) { leave(); });
    set_exit_handler([this](const caf::exit_msg&) { leave(); });
    if (place_.coordinator)
      monitor(place_.coordinator);
    if (place_.local)
      monitor(place_.local);
    // For what has come already. Without a sender: a message that comes too late stays in a
    // broker's mailbox, which CAF never closes, and would keep its sender.
    caf::anon_send(link_actor{this}, say_atom_v);
  }

  /// An exception would end the broker, and CAF would wait until the peer has read everything.
  template <class Call>
  void guarded(Call call) noexcept {
    try {
      call();
    } catch (...) { // the peer's fault, or no memory: whoever needs it connects again
      reset();
    }
  }

  /// What was received before this actor had the socket comes first.
  void receive(std::string_view bytes) {
    if (!is_open_)
      return;
    const auto before = std::exchange(peer_->unread, {});
    for (auto came : {std::string_view{before}, bytes})
      read(came);
    flush_all();
  }

  void read(std::string_view came) {
    auto& out = wr_buf(handle_);
    while (const auto size = is_open_ ? peer_->layer->read(came, reader_.room(), out) : 0)
      if (const auto x = reader_.filled(size))
        hear(*x);
  }

  void hear(const frame& x) {
    switch (x.kind()) {
    case frame_kind::join:
      return pass_on<cluster_hello>(x);
    case frame_kind::beat:
      return pass_on<cluster_beat>(x);
    case frame_kind::part:
      return pass_on<cluster_part>(x);
    case frame_kind::word:
      return send(place_.local, decoded<cluster_word>(x));
    case frame_kind::look:
      return look(x.head.number);
    case frame_kind::status:
      return answer(x);
    default: // not by the rules of any role
      break_link("a frame of the greeting", "one of what follows");
    }
  }

  /// To the coordinator, which confirms at times that it has handled what came: an actor's mailbox
  /// has no limit of its own, and strangers to the protocol could fill it.
  template <class Message>
  void pass_on(const frame& x) {
    count_unheard({1, x.head.length});
    unconfirmed_ += {1, x.head.length};
    if (unconfirmed_.messages < confirmed_messages && unconfirmed_.bytes < confirmed_bytes)
      return send(place_.coordinator, decoded<Message>(x));
    request(place_.coordinator, caf::infinite, decoded<Message>(x))
        .then([this, part = std::exchange(unconfirmed_, {})] { unheard_ -= part; },
              [this](const caf::error&) { leave(); });
  }

  void count_unheard(traffic x) {
    unheard_ += x;
    const auto most = peer_->role == link_role::rank ? most_unheard : most_unheard_questions;
    if (unheard_.messages > most || unheard_.bytes > most_unheard_bytes)
      break_link("more words than the coordinator can hear", "a peer that waits for answers");
  }

  template <class Message>
  static Message decoded(const frame& x) {
    auto message = decode_message<Message>(x.body());
    if (!message)
      break_link("a message that cannot be read", "one of the same version of leat");
    return std::move(*message);
  }

  /// An observer's question.
  void look(std::uint64_t number) {
    count_unheard({1, 0});
    request(place_.coordinator, caf::infinite, look_atom_v, std::string{place_.token.reveal()})
        .then(
            [this, number](const cluster_status& x) {
              unheard_ -= {1, 0};
              say(frame_kind::status, x, number);
            },
            [this](const caf::error&) { leave(); });
  }

  /// Of the observer's process.
  caf::result<cluster_status> ask() {
    auto promise = make_response_promise<cluster_status>();
    if (!is_open_) {
      promise.deliver(caf::make_error(caf::sec::request_receiver_down));
      return promise;
    }
    const auto number = next_++;
    asked_.emplace(number, promise);
    guarded([&] { write(frame_kind::look, number, {}); });
    return promise;
  }

  void answer(const frame& x) {
    const auto found = asked_.find(x.head.number);
    if (found == asked_.end())
      break_link("an answer that nobody has asked for", "answers alone");
    found->second.deliver(decoded<cluster_status>(x));
    asked_.erase(found);
  }

  template <class Message>
  void say(frame_kind kind, const Message& x, std::uint64_t number = 0) {
    guarded([&] { write(kind, number, encode(x)); });
  }

  void write(frame_kind kind, std::uint64_t number, std::string_view body) {
    if (!is_open_)
      return;
    auto& out = wr_buf(handle_); // which has no limit of its own
    if (out.size() + unsealed_.size()
        > (place_.coordinator ? most_unsent_to_peers : most_unsent_to_coordinator))
      break_link("a peer that reads nothing", "one that does");
    if (has_unsent_ && !peer_->layer->is_plain()) {
      plain_layer as_it_is;
      write_frame(as_it_is, kind, number, body, unsealed_);
      return;
    }
    write_frame(*peer_->layer, kind, number, body, out);
    flush_all();
  }

  void seal() {
    if (!is_open_ || unsealed_.empty())
      return;
    peer_->layer->write({unsealed_.data(), unsealed_.size()}, wr_buf(handle_));
    unsealed_.clear();
    flush_all();
  }

  /// Reads write, too: a bounded number of answers to a peer that renews its keys.
  void flush_all() {
    if (!is_open_ || wr_buf(handle_).empty())
      return;
    has_unsent_ = true;
    flush(handle_);
  }

  void hear_sent(std::uint64_t remaining) {
    has_unsent_ = remaining > 0;
    if (!has_unsent_)
      guarded([this] { seal(); });
    if (!has_unsent_ && is_leaving_) // not here: CAF would still use what it has let go
      guarded([this] { caf::anon_send(link_actor{this}, tick_atom_v); });
  }

  /// Nobody speaks here any more. The last words are still sent: they may say why.
  void leave() noexcept {
    if (!is_open_ || !has_unsent_)
      return cut();
    if (std::exchange(is_leaving_, true))
      return;
    guarded([this] { caf::delayed_anon_send(link_actor{this}, leave_patience, tick_atom_v); });
  }

  /// Ends the connection now, whatever is unsent: CAF's own way to close waits until the peer has
  /// read it, and with that the system's end. This actor ends when the loop has seen that: where a
  /// socket is added and removed in one turn of it, CAF forgets to close it.
  void cut() noexcept {
    if (std::exchange(is_open_, false))
      ::shutdown(static_cast<int>(handle_.id()), SHUT_RDWR);
    give_up();
  }

  /// As `cut`, and the kernel forgets what it has for the peer. Otherwise it would keep that after
  /// the socket is closed, and say nothing to a peer that does not read.
  void reset() noexcept {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    if (is_open_)
      (void)::setsockopt(static_cast<int>(handle_.id()), SOL_SOCKET, SO_LINGER, &at_once,
                         sizeof at_once);
    cut();
  }

  /// Nobody will answer any more.
  void give_up() noexcept {
    for (auto& x : std::exchange(asked_, {}))
      x.second.deliver(caf::make_error(caf::sec::request_receiver_down));
  }

  const std::shared_ptr<connected_peer> peer_;
  link_place place_;
  frame_reader reader_;
  caf::io::connection_handle handle_;
  bool is_open_ = false;
  /// Something is not in the kernel's hands yet.
  bool has_unsent_ = false;
  /// What TLS has yet to encrypt: while the kernel takes nothing, frames wait in order to share
  /// records.
  byte_buffer unsealed_;
  bool is_leaving_ = false;
  /// Passed on to the coordinator and not confirmed yet; what was passed on without a request for
  /// that.
  traffic unheard_;
  traffic unconfirmed_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, caf::typed_response_promise<cluster_status>> asked_;
};

link_actor begin_link(caf::actor_system& on, connected_peer peer, link_place place) {
  caf::actor_config config{&on.middleman().backend()};
  return on.spawn_class<link_broker, caf::no_spawn_options>(
      config, std::make_shared<connected_peer>(std::move(peer)), std::move(place));
}

} // namespace

void link_to_peer(caf::actor_system& on, connected_peer peer, const coordinator_actor& to,
                  const secret& token, gate_token alive) {
  begin_link(on, std::move(peer), {.coordinator = to, .token = token, .alive = std::move(alive)});
}

coordinator_actor link_to_coordinator(caf::actor_system& on, connected_peer peer,
                                      const member_actor& local, link_role role) {
  return begin_link(on, std::move(peer), {.local = local, .role = role});
}

} // namespace leat

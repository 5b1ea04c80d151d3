#include "tests/bench/link/row_ways.hpp"

#include "runtime/network/links/bulk_connection.hpp"
#include "runtime/network/links/dial_peer.hpp"
#include "runtime/network/links/port_guard.hpp"
#include "runtime/network/listen_place.hpp"
#include "runtime/network/socket_address.hpp"
#include "tests/bench/harness.hpp"
#include "tests/bench/link/basp.hpp"

#include <caf/all.hpp>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace leat::bench {

namespace {

struct made_row {
  std::shared_ptr<char[]> bytes;
  std::size_t size = 0;
};

made_row make_row(std::size_t size, std::uint64_t number) {
  std::shared_ptr<char[]> bytes{new char[size]};
  std::memset(bytes.get(), static_cast<int>(number & 127), size);
  return {std::move(bytes), size};
}

/// What came, from the thread that received it to the one that takes it. Neither wakes the other
/// more often than it has to: that would be most of what small rows cost.
class row_queue {
public:
  void push(made_row x) {
    bool was_empty = false;
    {
      const std::lock_guard lock{mutex_};
      was_empty = all_.empty();
      all_.push_back(std::move(x));
    }
    if (was_empty)
      changed_.notify_one();
  }
  made_row pop() {
    if (next_ == taken_.size()) {
      taken_.clear();
      next_ = 0;
      std::unique_lock lock{mutex_};
      if (!changed_.wait_for(lock, std::chrono::seconds{60}, [&] { return !all_.empty(); }))
        throw std::runtime_error("no row has come");
      all_.swap(taken_);
    }
    return std::move(taken_[next_++]);
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<made_row> all_;
  // The taker's.
  std::vector<made_row> taken_;
  std::size_t next_ = 0;
};

/// Where rows come from, in the consumer's process.
class row_inlet {
public:
  virtual ~row_inlet() = default;
  virtual made_row pop() { return queue.pop(); }
  /// There is room for so many rows more.
  virtual void give_back(std::uint64_t rows) = 0;

  row_queue queue;
};

std::uint16_t port_of(std::uint64_t x) {
  return static_cast<std::uint16_t>(x);
}

// -- A socket and nothing else.

struct raw_head {
  std::uint64_t size = 0;
  std::uint64_t number = 0;
};

bool receive_all(const file_descriptor& socket, void* to, std::size_t size) {
  return size == 0 || ::recv(socket.get(), to, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

class raw_inlet : public row_inlet {
public:
  explicit raw_inlet(const part_line& source) {
    auto listener = listen_at(parse_ip("127.0.0.1").value(), 0);
    source.say(listener.port);
    wait_in_reads(listener.socket);
    socket_ = file_descriptor{::accept(listener.socket.get(), nullptr, nullptr)};
    prepare_connection(socket_);
    std::thread{[this] { run(); }}.detach(); // until the process ends
  }
  void give_back(std::uint64_t rows) override {
    (void)!::send(socket_.get(), &rows, sizeof rows, MSG_NOSIGNAL);
  }

private:
  void run() {
    raw_head head;
    while (receive_all(socket_, &head, sizeof head)) {
      std::shared_ptr<char[]> bytes{new char[head.size]};
      if (!receive_all(socket_, bytes.get(), head.size))
        return;
      queue.push({std::move(bytes), head.size});
    }
  }

  file_descriptor socket_;
};

void send_all(const file_descriptor& socket, iovec* at, std::size_t count) {
  while (count > 0) {
    msghdr message{};
    message.msg_iov = at;
    message.msg_iovlen = count;
    auto n = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL);
    if (n < 0)
      throw std::runtime_error("the consumer has ended");
    for (; count > 0 && static_cast<std::size_t>(n) >= at->iov_len; ++at, --count)
      n -= static_cast<ssize_t>(at->iov_len);
    if (count > 0)
      *at = {static_cast<char*>(at->iov_base) + n, at->iov_len - static_cast<std::size_t>(n)};
  }
}

/// Calls `start` when the first row may be made.
void make_raw(const row_job& x, const part_line& consumer, const std::function<void()>& start) {
  auto place = socket_address_of(parse_ip("127.0.0.1").value(), port_of(consumer.hear()));
  const file_descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (::connect(socket.get(), place.raw(), place.size) != 0)
    throw std::runtime_error("no connection");
  prepare_connection(socket);
  std::uint64_t credit = 0;
  for (std::uint64_t i = 0; i < x.rows; ++i) {
    for (std::uint64_t more = 0;; credit += more)
      if (::recv(socket.get(), &more, sizeof more, credit == 0 ? 0 : MSG_DONTWAIT) <= 0) {
        if (credit == 0)
          throw std::runtime_error("the consumer has ended");
        break;
      }
    if (i == 0)
      start();
    --credit;
    const auto row = make_row(x.row_bytes, i);
    raw_head head{row.size, i};
    iovec all[] = {{&head, sizeof head}, {row.bytes.get(), row.size}};
    send_all(socket, all, 2);
  }
}

// -- CAF's protocol.

std::string directory_of(const row_job& x, const char* role) {
  return x.certificates.empty() ? "" : x.certificates + "/" + role;
}

class basp_inlet : public row_inlet {
public:
  basp_inlet(const row_job& x, const part_line& source) {
    auto& system = basp_system(x.certificates, "worker");
    const auto far = basp_connect(system, port_of(source.hear()), x.certificates);
    puller_ = system.spawn([this, far](caf::event_based_actor* self) -> caf::behavior {
      return {[=, this](std::uint64_t rows) {
        for (std::uint64_t i = 0; i < rows; ++i)
          self->request(far, caf::infinite, caf::get_atom_v).then([this](const basp_row& row) {
            queue.push({row.bytes, row.size});
          });
      }};
    });
  }
  void give_back(std::uint64_t rows) override { caf::anon_send(puller_, rows); }

private:
  caf::actor puller_;
};

void make_by_basp(const row_job& x, const part_line& consumer, const std::function<void()>& start) {
  auto& system = basp_system(x.certificates, "rank");
  const auto source = system.spawn([&](caf::event_based_actor*) -> caf::behavior {
    return {[&x, &start, i = std::uint64_t{0}](caf::get_atom) mutable {
      if (i == 0)
        start();
      const auto row = make_row(x.row_bytes, i++);
      return basp_row{row.bytes, row.size};
    }};
  });
  consumer.say(basp_publish(system, source, x.certificates));
  consumer.hear(); // all is there
}

// -- A bulk connection.

class bulk_inlet : public row_inlet, public bulk_owner {
public:
  bulk_inlet(const row_job& x, const part_line& source) : row_bytes_(x.row_bytes) {
    guard_config config{.at = parse_ip("127.0.0.1").value(),
                        .certificates =
                            certificates_in(directory_of(x, "rank"), {link_role::rank})};
    config.rules.as = link_role::rank;
    config.rules.roles = {link_role::worker};
    port_guard guard{std::move(config)};
    std::mutex mutex;
    std::condition_variable changed;
    guard.begin([&](connected_peer peer) {
      const std::lock_guard lock{mutex};
      connection_ = std::make_unique<bulk_connection>(std::move(peer),
                                                      bulk_rules_from(link_role::worker), *this);
      changed.notify_one();
    });
    source.say(guard.port());
    std::unique_lock lock{mutex};
    if (!changed.wait_for(lock, std::chrono::seconds{20}, [&] { return connection_ != nullptr; }))
      throw std::runtime_error("no worker has come");
  }
  void give_back(std::uint64_t rows) override {
    connection_->grant(static_cast<std::int64_t>(rows) * cost_of(row_bytes_ + 4));
  }

private:
  std::optional<bulk_room> room_for(const bulk_head& x) override {
    coming_.reset(new char[x.payload]);
    return bulk_room{{{coming_.get(), x.payload}}, coming_};
  }
  void receive(const bulk_head& x, bulk_room) override {
    queue.push({std::move(coming_), x.payload});
  }
  void may_send() override {}
  void ended(const std::string&) noexcept override {}

  const std::size_t row_bytes_;
  std::shared_ptr<char[]> coming_;
  std::unique_ptr<bulk_connection> connection_;
};

class bulk_outlet : public bulk_owner {
public:
  explicit bulk_outlet(connected_peer peer)
      : connection_(std::move(peer), bulk_rules_from(link_role::rank), *this) {}

  void send(bulk_frame x) {
    std::unique_lock lock{mutex_};
    while (!connection_.send(x)) {
      if (!changed_.wait_for(lock, std::chrono::seconds{60}, [&] { return may_send_; }))
        throw std::runtime_error("no credit has come");
      may_send_ = false;
    }
  }

private:
  std::optional<bulk_room> room_for(const bulk_head&) override { return std::nullopt; }
  void receive(const bulk_head&, bulk_room) override {}
  void may_send() override {
    const std::lock_guard lock{mutex_};
    may_send_ = true;
    changed_.notify_one();
  }
  void ended(const std::string&) noexcept override {}

  std::mutex mutex_;
  std::condition_variable changed_;
  bool may_send_ = false;
  bulk_connection connection_;
};

connected_peer dial_rank(const row_job& x, std::uint16_t port) {
  dial_wish wish{.to = {"127.0.0.1", port}, .expected = link_role::rank};
  if (const auto own = certificates_in(directory_of(x, "worker"), {link_role::worker}))
    wish.own = own->now();
  wish.hello.role = link_role::worker;
  return dial_peer(wish, nullptr);
}

void make_by_bulk(const row_job& x, const part_line& consumer, const std::function<void()>& start) {
  auto& outlet = *new bulk_outlet{dial_rank(x, port_of(consumer.hear()))};
  consumer.hear(); // the consumer has granted its window
  start();
  for (std::uint64_t i = 0; i < x.rows; ++i) {
    const auto row = make_row(x.row_bytes, i);
    outlet.send({.kind = frame_kind::row,
                 .number = i,
                 .payload = {{row.bytes.get(), row.size}},
                 .owner = row.bytes});
  }
}

std::unique_ptr<row_inlet> inlet_of(const row_job& x, const part_line& source) {
  switch (x.way) {
  case row_way::raw:
    return std::make_unique<raw_inlet>(source);
  case row_way::basp:
    return std::make_unique<basp_inlet>(x, source);
  case row_way::bulk:
    break;
  }
  return std::make_unique<bulk_inlet>(x, source);
}

/// How much more memory a process has than at the beginning, at most, by halves of the time.
class growth_watch {
public:
  void look(bool is_late) {
    const auto now = resident_bytes() - begin_;
    most_[is_late ? 1 : 0] = std::max(most_[is_late ? 1 : 0], now);
  }
  double most() const { return std::max(most_[0], most_[1]); }
  double late() const { return most_[1]; }

private:
  double begin_ = resident_bytes();
  double most_[2] = {0, 0};
};

} // namespace

std::uint64_t rows_in_window(const row_job& x) {
  return std::clamp<std::uint64_t>((8U << 20) / x.row_bytes, 4, 256);
}

std::vector<double> take_rows(const row_job& x, const part_line& source) {
  auto& inlet = *inlet_of(x, source).release(); // until the process ends
  const auto window = rows_in_window(x);
  inlet.give_back(std::min(window, x.rows));
  if (x.way == row_way::bulk)
    source.say(0);
  const auto batch = window >= 64 ? window / 8 : 1;
  std::uint64_t owed = 0;
  std::uint64_t granted = std::min(window, x.rows);
  unsigned sum = 0;
  growth_watch growth;
  const auto begin_wall = wall_seconds();
  const auto begin = process_seconds();
  for (std::uint64_t i = 0; i < x.rows; ++i) {
    {
      const auto row = inlet.pop();
      if (row.size != x.row_bytes)
        throw std::runtime_error("a row of another size");
      for (std::size_t k = 0; k < row.size; k += 4096)
        sum += static_cast<unsigned char>(row.bytes[k]);
    }
    if (x.pause.count() > 0) {
      std::this_thread::sleep_for(x.pause);
      growth.look(i >= x.rows / 2);
    }
    if (++owed >= batch && granted < x.rows) {
      const auto more = std::min(owed, x.rows - granted);
      inlet.give_back(more);
      granted += more;
      owed = 0;
    }
  }
  const auto cpu = process_seconds() - begin;
  source.say(sum); // which must be computed
  return {cpu, wall_seconds() - begin_wall, growth.most(), growth.late()};
}

std::vector<double> make_rows(const row_job& x, const part_line& consumer) {
  double begin = 0;
  double resident = 0;
  const std::function<void()> start = [&] {
    begin = process_seconds();
    resident = resident_bytes();
  };
  if (x.way == row_way::basp) {
    make_by_basp(x, consumer, start);
  } else {
    if (x.way == row_way::raw)
      make_raw(x, consumer, start);
    else
      make_by_bulk(x, consumer, start);
    consumer.hear();
  }
  const auto cpu = process_seconds() - begin;
  return {cpu, peak_bytes() - resident};
}

row_costs costs_of(const row_job& x) {
  const auto found = run_parts([&](const part_line& line) { return take_rows(x, line); },
                               [&](const part_line& line) { return make_rows(x, line); });
  const auto gigabytes = static_cast<double>(x.row_bytes) * static_cast<double>(x.rows) * 1e-9;
  return {.rows_per_second = static_cast<double>(x.rows) / found[0].at(1),
          .seconds_per_gigabyte = (found[0].at(0) + found[1].at(0)) / gigabytes,
          .consumer_seconds_per_gigabyte = found[0].at(0) / gigabytes,
          .source_growth = found[1].at(1),
          .consumer_growth = found[0].at(2),
          .second_half_growth = found[0].at(3)};
}

} // namespace leat::bench

#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/sanitized.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

// Strangers at a coordinator's port: noise, texts of other protocols, lengths that nobody has,
// halves of handshakes, connections that say nothing. The job does not notice; the coordinator
// stays as large as it was, and cuts all of them off in time.
//
// LEAT_TEST_STRANGERS: for how many seconds, without and with certificates (3).
// LEAT_TEST_SEED:      seed of all that they say.
namespace leat::test::cluster_strangers_test {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds cut_off_within{5};

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const auto* text = std::getenv(variable);
  return text ? std::stoull(text) : otherwise;
}

std::size_t kilobytes_of(pid_t process) {
  std::ifstream in{"/proc/" + std::to_string(process) + "/statm"};
  std::size_t pages = 0;
  in >> pages >> pages;
  return 4 * pages;
}

class strangers {
public:
  strangers(std::uint16_t port, std::uint64_t seed) : port_(port), random_(seed) {}
  strangers(const strangers&) = delete;
  strangers& operator=(const strangers&) = delete;
  ~strangers() {
    for (const auto& x : open_)
      ::close(x.socket);
  }

  void visit() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port_);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) {
      ::close(socket);
      return;
    }
    const auto text = say();
    (void)!::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (random_() % 3 == 0)
      ::close(socket);
    else
      open_.push_back({socket, clock::now()});
    ++visits_;
  }
  /// Looks who was cut off; counts those that were not in time.
  void look() {
    for (std::size_t i = 0; i < open_.size();) {
      std::array<char, 4096> bytes{};
      const auto n = ::recv(open_[i].socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
      const bool is_open = n > 0 || (n < 0 && errno == EAGAIN);
      const bool is_late = clock::now() - open_[i].since > cut_off_within + slack;
      if (is_open && !is_late) {
        ++i;
        continue;
      }
      late_ += is_open ? 1 : 0;
      ::close(open_[i].socket);
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  std::size_t number_open() const { return open_.size(); }
  std::size_t late() const { return late_; }
  std::size_t visits() const { return visits_; }

private:
  /// A busy machine may run nobody for a while; what waits in the kernel is not accepted yet.
  static constexpr std::chrono::seconds slack{sanitized ? 10 : 3};

  std::string noise(std::size_t size) {
    std::string text(size, '\0');
    for (auto& byte : text)
      byte = static_cast<char>(random_());
    return text;
  }
  std::string say() {
    switch (random_() % 8) {
    case 0:
      return {};
    case 1:
      return noise(random_() % 20'000);
    case 2:
      return "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    case 3: // a frame that promises 4 GB
      return std::string("\xff\xff\xff\xff\x01\0\0\0", 8) + noise(8);
    case 4: // a hello that promises 8 KiB
      return std::string("\0\x20\0\0\x01\0\0\0\0\0\0\0\0\0\0\0", 16) + noise(random_() % 9000);
    case 5: // the beginning of a handshake
      return std::string("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 11) + noise(random_() % 600);
    case 6: // what CAF's own protocol begins with
      return std::string("\0\0\0\0\0\0\0\x08", 8) + noise(24);
    default: // a hello without a token
      return std::string("\x06\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x08\x01\x10\x01\x20\x01", 22);
    }
  }

  struct visitor {
    int socket;
    clock::time_point since;
  };

  std::uint16_t port_;
  std::mt19937_64 random_;
  std::vector<visitor> open_;
  std::size_t late_ = 0;
  std::size_t visits_ = 0;
};

} // namespace

TEST_CASE("strangers at a coordinator's port change nothing") {
  const auto seed = number_in("LEAT_TEST_SEED", std::random_device{}());
  const auto seconds = number_in("LEAT_TEST_STRANGERS", 3);
  const bool is_secured = GENERATE(false, true);
  WARN("seed " << seed << " (LEAT_TEST_SEED), " << seconds << " s (LEAT_TEST_STRANGERS)"
               << (is_secured ? " with" : " without") << " certificates");
  cluster_job job{"count(1000000).shuffle(seed=5).batch(12, lanes=12)",
                  {"--steps", std::to_string(200 * seconds)},
                  2,
                  {"--step-time", "5"}};
  words certificate;
  if (is_secured) {
    job.bench.succeed({"certs", "init", job.bench.at / "ca"});
    job.bench.succeed(
        {"certs", "issue", job.bench.at / "ca", "all", "--role", "coordinator", "--role", "rank"});
    certificate = {"--certs", job.bench.at / "ca/all"};
  }
  coordinator_process lead = job.coordinator("lead", certificate + words{"--bind", "127.0.0.1:0"});
  for (std::uint64_t rank = 0; rank < 2; ++rank)
    job.start_process(rank, job.seat(rank, lead) + certificate);
  job.wait_for_batches(0, 5);
  const auto size = kilobytes_of(lead.pid());
  auto largest = size;
  strangers all{lead.port(), seed};
  while (job.rank(0).is_running() && job.rank(1).is_running()) {
    if (all.number_open() < 500)
      all.visit();
    else
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    all.look();
    largest = std::max(largest, kilobytes_of(lead.pid()));
  }
  CAPTURE(all.visits(), size, largest, lead.errors());
  CHECK(all.late() == 0);
  CHECK(all.visits() > 100);
  if (!sanitized)
    CHECK(largest < size + 20'000);
  job.check_end();
  CHECK(lead.end() == 0);
}

} // namespace leat::test::cluster_strangers_test

#include "tests/support/heard_notices.hpp"
#include "tests/support/queue_server.hpp"
#include "tests/support/read_queue.hpp"

namespace leat::tcp_lines_input_test {
namespace {

/// A server for one connection after the other, which sends some lines and then does what a test
/// says.
class line_server {
public:
  line_server() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* raw = reinterpret_cast<sockaddr*>(&place);
    if (::bind(listener_, raw, size) != 0 || ::listen(listener_, 8) != 0
        || ::getsockname(listener_, raw, &size) != 0)
      throw std::runtime_error("no port");
    port_ = ntohs(place.sin_port);
  }
  ~line_server() {
    hang_up();
    ::close(listener_);
  }
  line_server(const line_server&) = delete;
  line_server& operator=(const line_server&) = delete;
  std::string url() const { return "tcp://127.0.0.1:" + std::to_string(port_) + "?patience=20"; }
  void accept() { peer_ = ::accept(listener_, nullptr, nullptr); }
  std::string line() {
    std::string text;
    for (char x = 0; ::recv(peer_, &x, 1, 0) == 1 && x != '\n';)
      text += x;
    return text;
  }
  void say(const std::string& text) {
    CHECK(::send(peer_, text.data(), text.size(), MSG_NOSIGNAL) > 0);
  }
  void hang_up() {
    if (peer_ >= 0)
      ::close(std::exchange(peer_, -1));
  }

private:
  int listener_ = -1;
  int peer_ = -1;
  std::uint16_t port_ = 0;
};

TEST_CASE(
    "tcp_lines_input: continues after the last line on a new connection, says what is covered, "
    "and ends with the server's word") {
  heard_notices heard;
  line_server server;
  test::read_queue queue{server.url()};
  server.accept();
  CHECK(server.line() == "from");
  server.say("1 a\n2 b b\n3 no end");
  REQUIRE(queue.wait_for(2));
  queue.acknowledge(1);
  CHECK(server.line() == "done 1");
  server.hang_up();
  server.accept();
  CHECK(server.line() == "from 2");
  CHECK(server.line() == "done 1");
  server.say("3 c\nend\n");
  REQUIRE(queue.wait_for(3));
  CHECK(queue.wait_for_failure().empty());
  CHECK(queue.contents() == std::vector<std::string>{"a", "b b", "c"});
}

TEST_CASE(
    "tcp_lines_input: a line of another protocol is an error, and a wait can be interrupted") {
  line_server server;
  test::read_queue queue{server.url()};
  server.accept();
  server.say("220\n");
  CHECK(has(queue.wait_for_failure(), "\"220\""));
  queue.close();
  server.hang_up();
  queue.open();
  server.accept();
  CHECK(server.line() == "from");
  queue.close();
}

} // namespace
} // namespace leat::tcp_lines_input_test

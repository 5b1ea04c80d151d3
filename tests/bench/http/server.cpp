// leat-http-server DIR [--delay MS] [--rate BYTES] [--stall N:MS] [--faults FAILED:CUT:SHIFTED]: a
// web server on this machine for measurements, which prints its address. Buckets of S3 are folders
// of DIR; signatures are not looked at.
//
//   --delay  what a round trip takes: every answer comes so much later, and the first one of a
//            connection by twice that
//   --rate   bytes per second of all connections together
//   --stall  every N-th request for data is answered so much later
//   --faults percentages of requests for data: answered 503, with a body that ends half way, and
//            with a range that begins a byte too late; always the same ones, by their number
//
// GET /-/counts says what was asked for since the last time.

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct link_settings {
  std::string folder;
  milliseconds delay{0};
  double bytes_per_second = 0;  // 0: no limit
  std::uint64_t stall_each = 0; // 0: none
  milliseconds stall{0};
  unsigned failed = 0; // percent, as are these two
  unsigned cut = 0;
  unsigned shifted = 0;
};

enum class fault : std::uint8_t { none, failed, cut, shifted };

/// The fault of a request with that number.
fault fault_of(const link_settings& how, std::uint64_t number) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
  constexpr unsigned shift = 33;
  constexpr unsigned percent = 100;
  const auto drawn = (number * golden >> shift) % percent;
  if (drawn < how.failed)
    return fault::failed;
  if (drawn < how.failed + how.cut)
    return fault::cut;
  return drawn < how.failed + how.cut + how.shifted ? fault::shifted : fault::none;
}

/// The one link on which all answers leave.
class shared_link {
public:
  explicit shared_link(double bytes_per_second) : rate_(bytes_per_second) {}

  /// Waits until so many bytes have passed.
  void pass(std::size_t bytes) {
    if (rate_ <= 0)
      return;
    std::unique_lock lock{mutex_};
    const auto takes = std::chrono::duration<double>{static_cast<double>(bytes) / rate_};
    free_at_ =
        std::max(free_at_, steady::now()) + std::chrono::duration_cast<steady::duration>(takes);
    const auto until = free_at_;
    lock.unlock();
    std::this_thread::sleep_until(until);
  }

private:
  const double rate_;
  std::mutex mutex_;
  steady::time_point free_at_;
};

struct served_counts {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> bytes{0};
};

struct http_request {
  std::string method;
  std::string path; // decoded, with its first "/"
  std::optional<std::uint64_t> begin;
  std::uint64_t end = UINT64_MAX;
};

std::string decoded(std::string_view text) {
  constexpr int hexadecimal = 16;
  std::string all;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%' && i + 2 < text.size()) {
      all += static_cast<char>(std::stoi(std::string{text.substr(i + 1, 2)}, nullptr, hexadecimal));
      i += 2;
    } else
      all += text[i];
  return all;
}

std::string lower_case(std::string text) {
  for (auto& x : text)
    if (x >= 'A' && x <= 'Z')
      x = static_cast<char>(x - 'A' + 'a');
  return text;
}

http_request parsed(const std::string& head) {
  http_request x;
  const auto first = head.find(' ');
  const auto second = head.find(' ', first + 1);
  x.method = head.substr(0, first);
  const auto target = head.substr(first + 1, second - first - 1);
  x.path = decoded(target.substr(0, target.find('?')));
  constexpr std::string_view range = "\r\nrange: bytes=";
  if (const auto at = lower_case(head).find(range); at != std::string::npos) {
    const auto text = head.substr(at + range.size(), head.find("\r\n", at + 2) - at - range.size());
    const auto dash = text.find('-');
    x.begin = std::stoull(text.substr(0, dash));
    if (dash + 1 < text.size())
      x.end = std::stoull(text.substr(dash + 1)) + 1;
  }
  return x;
}

class served_connection {
public:
  served_connection(int socket, const link_settings& how, shared_link& link, served_counts& counts)
      : socket_(socket), how_(how), link_(link), counts_(counts) {}

  void serve() {
    std::string buffer;
    char bytes[4096];
    for (bool is_open = true; is_open;) {
      const auto end = buffer.find("\r\n\r\n");
      if (end != std::string::npos) {
        is_open = answer(parsed(buffer.substr(0, end + 2)));
        buffer.erase(0, end + 4);
        continue;
      }
      const auto n = ::recv(socket_, bytes, sizeof bytes, 0);
      is_open = n > 0;
      buffer.append(bytes, is_open ? static_cast<std::size_t>(n) : 0);
    }
    ::close(socket_);
  }

private:
  bool answer(const http_request& x) {
    if (x.path == "/-/counts")
      return say("200 OK", "",
                 "{\"requests\": " + std::to_string(counts_.requests.exchange(0))
                     + ", \"bytes\": " + std::to_string(counts_.bytes.exchange(0)) + "}");
    const auto number = ++counts_.requests;
    auto wait = how_.delay * (is_new_ ? 2 : 1);
    is_new_ = false;
    if (how_.stall_each > 0 && number % how_.stall_each == 0)
      wait += how_.stall;
    if (wait.count() > 0 && !is_still_open_after(wait))
      return false;
    const int file = ::open((how_.folder + x.path).c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about {};
    const bool is_there = file >= 0 && ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
    const auto wrong = fault_of(how_, number);
    const bool goes_on = !is_there                ? say("404 Not Found", "", "")
                         : wrong == fault::failed ? say("503 Slow Down", "", "")
                                                  : send_part(x, file, about.st_size, wrong);
    if (file >= 0)
      ::close(file);
    return goes_on;
  }

  /// False once the client has gone: it may have sent the request a second time.
  bool is_still_open_after(milliseconds wait) const {
    pollfd gone{.fd = socket_, .events = POLLRDHUP, .revents = 0};
    return ::poll(&gone, 1, static_cast<int>(wait.count())) == 0;
  }

  bool send_part(const http_request& x, int file, off_t bytes, fault wrong) {
    const auto size = static_cast<std::uint64_t>(bytes);
    const auto late = x.begin && wrong == fault::shifted && *x.begin + 1 < size ? 1U : 0U;
    const auto begin = x.begin.value_or(0) + late;
    const auto end = std::min(x.end, size - late) + late;
    if (x.begin && begin >= size)
      return say("416 Range Not Satisfiable",
                 "Content-Range: bytes */" + std::to_string(size) + "\r\n", "");
    auto head = std::string{x.begin ? "HTTP/1.1 206 Partial Content\r\n" : "HTTP/1.1 200 OK\r\n"}
                + "Accept-Ranges: bytes\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nETag: \""
                + std::to_string(size) + "-1\"\r\nContent-Length: " + std::to_string(end - begin)
                + "\r\n";
    if (x.begin)
      head += "Content-Range: bytes " + std::to_string(begin) + "-" + std::to_string(end - 1) + "/"
              + std::to_string(size) + "\r\n";
    if (!send(head + "\r\n"))
      return false;
    if (x.method == "HEAD")
      return true;
    if (wrong != fault::cut)
      return send_bytes(file, begin, end);
    send_bytes(file, begin, begin + (end - begin) / 2);
    return false;
  }

  bool send_bytes(int file, std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t piece = 65'536;
    const auto step = how_.bytes_per_second > 0 ? piece : end - begin;
    auto at = static_cast<off_t>(begin);
    while (static_cast<std::uint64_t>(at) < end) {
      const auto want = std::min(step, end - static_cast<std::uint64_t>(at));
      link_.pass(want);
      const auto n = ::sendfile(socket_, file, &at, want);
      if (n <= 0)
        return false;
      counts_.bytes += static_cast<std::uint64_t>(n);
    }
    return true;
  }

  bool say(const std::string& status, const std::string& headers, const std::string& body) const {
    return send("HTTP/1.1 " + status + "\r\n" + headers
                + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0)
        return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  const int socket_;
  const link_settings& how_;
  shared_link& link_;
  served_counts& counts_;
  bool is_new_ = true;
};

link_settings settings_of(int count, char** words) {
  if (count < 2 || count % 2 != 0)
    throw std::invalid_argument{
        "DIR [--delay MS] [--rate BYTES] [--stall N:MS] [--faults FAILED:CUT:SHIFTED]"};
  link_settings how{.folder = words[1]};
  for (int i = 2; i < count; i += 2) {
    const std::string name{words[i]};
    const std::string value{words[i + 1]};
    if (name == "--delay")
      how.delay = milliseconds{std::stoi(value)};
    else if (name == "--rate")
      how.bytes_per_second = std::stod(value);
    else if (name == "--stall") {
      how.stall_each = std::stoull(value);
      how.stall = milliseconds{std::stoi(value.substr(value.find(':') + 1))};
    } else if (name == "--faults") {
      char colon = ':';
      std::istringstream{value} >> how.failed >> colon >> how.cut >> colon >> how.shifted;
    } else
      throw std::invalid_argument{name};
  }
  return how;
}

int listening_socket() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  constexpr int waiting = 1024;
  if (socket < 0 || ::bind(socket, reinterpret_cast<sockaddr*>(&at), size) != 0
      || ::listen(socket, waiting) != 0
      || ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    throw std::runtime_error{"no port for a server"};
  std::cout << "http://127.0.0.1:" << ntohs(at.sin_port) << std::endl;
  return socket;
}

} // namespace

int main(int count, char** words) {
  try {
    std::signal(SIGPIPE, SIG_IGN); // sendfile has no flag for it
    const auto how = settings_of(count, words);
    shared_link link{how.bytes_per_second};
    served_counts counts;
    const int listener = listening_socket();
    for (;;) {
      const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0)
        continue;
      const int yes = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      std::thread{[socket, &how, &link, &counts] {
        served_connection{socket, how, link, counts}.serve();
      }}.detach(); // until this process is killed
    }
  } catch (const std::exception& x) {
    std::cerr << "leat-http-server: " << x.what() << "\n";
    return 2;
  }
}

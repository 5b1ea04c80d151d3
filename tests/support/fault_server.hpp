#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace leat::test {

/// What a server does wrong in one response.
enum class fault : std::uint8_t {
  none,
  /// Says how long the body is, and closes at half of it.
  cut,
  /// The same, without saying how long it is.
  cut_without_length,
  /// Says which part it is, not how long the body is, and sends all of the object.
  other_body,
  /// Sends the whole part in chunks, and not the end of the last one.
  unended,
  /// Fewer bytes than asked for, as its headers say.
  shortened,
  /// As many bytes, of another place, as its headers say.
  shifted,
  /// All of the object.
  ignores_range,
  busy,
  too_many,
  reset,
  /// Nothing comes any more.
  stalls,
  /// One byte now and then.
  trickles,
  not_found,
  forbidden,
  number_of
};

/// A web server on this machine that has the files of a folder, and misbehaves as it is told to.
class fault_server {
public:
  struct request {
    std::uint64_t number = 0;
    std::string method = {};
    /// Decoded, without the first "/" and without a query.
    std::string path = {};
    /// As it came.
    std::string target = {};
    std::map<std::string, std::string> headers = {};
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string body = {};
  };
  using choice = std::function<fault(const request&)>;

  struct response {
    /// "200 OK"
    std::string status;
    /// Lines that end with "\r\n".
    std::string headers = {};
    std::string body = {};
  };

  explicit fault_server(std::string folder, choice choose = {})
      : folder_(std::move(folder)), choose_(std::move(choose)), listener_(listen_somewhere()) {
    thread_ = std::thread{[this] { accept_all(); }};
  }
  ~fault_server() {
    is_ending_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    {
      const std::lock_guard lock{mutex_};
      for (const int x : open_)
        ::shutdown(x, SHUT_RDWR);
    }
    thread_.join();
    for (auto& x : connections_)
      x.join();
    ::close(listener_);
  }
  fault_server(const fault_server&) = delete;
  fault_server& operator=(const fault_server&) = delete;

  /// "http://127.0.0.1:PORT"
  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::string url(const std::string& path) const { return address() + "/" + path; }

  std::uint64_t requests() const { return requests_; }
  std::uint64_t faults() const { return faults_; }
  /// Most requests that were being answered at the same time.
  std::size_t most_at_once() const { return most_; }
  /// From now on all objects have another ETag.
  void change() { ++version_; }

  /// Before the first request:
  bool honours_if_match = true;
  bool names_versions = true;
  /// By numbers, as Google does, too.
  bool names_generations = false;
  /// Every request for this path is sent to that URL.
  std::map<std::string, std::string> redirects = {};
  /// What a service says before files are looked for: a refusal, an answer that is no file.
  std::function<std::optional<response>(const request&)> service = {};

private:
  int listen_somewhere() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (socket < 0 || ::bind(socket, reinterpret_cast<sockaddr*>(&at), size) != 0
        || ::listen(socket, 512) != 0
        || ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0)
      throw std::runtime_error{"no port for a server"};
    port_ = ntohs(at.sin_port);
    return socket;
  }

  void accept_all() {
    for (;;) {
      const int x = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (is_ending_)
        return;
      if (x < 0)
        continue;
      const int yes = 1;
      ::setsockopt(x, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      const std::lock_guard lock{mutex_};
      open_.push_back(x);
      connections_.emplace_back([this, x] { serve(x); });
    }
  }

  void serve(int socket) {
    std::string buffer;
    while (!is_ending_) {
      const auto end = buffer.find("\r\n\r\n");
      if (end == std::string::npos) {
        if (!receive(socket, buffer))
          break;
        continue;
      }
      const auto head = buffer.substr(0, end);
      const auto size = body_size(head);
      if (buffer.size() < end + 4 + size) {
        if (!receive(socket, buffer))
          break;
        continue;
      }
      const auto body = buffer.substr(end + 4, size);
      buffer.erase(0, end + 4 + size);
      const auto now = ++under_way_;
      for (auto most = most_.load(); most < now && !most_.compare_exchange_weak(most, now);)
        ;
      const bool goes_on = answer(socket, head, body);
      --under_way_;
      if (!goes_on)
        break;
    }
    const std::lock_guard lock{mutex_};
    open_.erase(std::find(open_.begin(), open_.end(), socket));
    ::close(socket);
  }

  static bool receive(int socket, std::string& to) {
    char bytes[4096];
    const auto n = ::recv(socket, bytes, sizeof bytes, 0);
    if (n > 0)
      to.append(bytes, static_cast<std::size_t>(n));
    return n > 0;
  }

  static std::size_t body_size(const std::string& head) {
    const auto at = head.find("\r\nContent-Length: ");
    return at == std::string::npos ? 0 : std::stoull(head.substr(at + 18));
  }

  static bool send(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0)
        return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

public:
  static std::string decoded(std::string_view x) {
    std::string text;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i] == '%' && i + 2 < x.size()) {
        text +=
            static_cast<char>(std::strtol(std::string{x.substr(i + 1, 2)}.c_str(), nullptr, 16));
        i += 2;
      } else
        text += x[i];
    return text;
  }

private:
  request parse(const std::string& head) {
    request x{.number = ++requests_};
    const auto first = head.find(' ') + 1;
    x.method = head.substr(0, first - 1);
    x.target = head.substr(first, head.find(' ', first) - first);
    x.path = decoded(x.target.substr(0, x.target.find('?'))).substr(1);
    for (auto at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at)) {
      at += 2;
      const auto end = std::min(head.find("\r\n", at), head.size());
      const auto colon = head.find(": ", at);
      if (colon != std::string::npos && colon < end)
        x.headers[head.substr(at, colon - at)] = head.substr(colon + 2, end - colon - 2);
    }
    if (const auto range = x.headers.find("Range"); range != x.headers.end()) {
      const auto& text = range->second; // bytes=5-9
      const auto dash = text.find('-');
      x.begin = std::stoull(text.substr(6, dash - 6));
      x.end = std::stoull(text.substr(dash + 1)) + 1;
    }
    return x;
  }

  std::optional<std::string> content(const std::string& path) {
    const std::lock_guard lock{files_mutex_};
    if (const auto known = files_.find(path); known != files_.end())
      return known->second;
    std::ifstream in{folder_ + "/" + path, std::ios::binary};
    if (!in || !std::filesystem::is_regular_file(folder_ + "/" + path))
      return {};
    return files_[path] = std::string{std::istreambuf_iterator<char>{in}, {}};
  }

  /// The file may have been written.
  void forget(const std::string& path) {
    const std::lock_guard lock{files_mutex_};
    files_.erase(path);
  }

  std::string etag(const std::string& body) const {
    return "\"" + std::to_string(body.size()) + "-" + std::to_string(version_) + "\"";
  }

  bool answer(int socket, const std::string& head, const std::string& content_sent) {
    auto x = parse(head);
    x.body = content_sent;
    const auto what = choose_ ? choose_(x) : fault::none;
    if (what != fault::none)
      ++faults_;
    switch (what) {
    case fault::reset: {
      const linger now{1, 0};
      ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      return false;
    }
    case fault::stalls:
      return wait_for_end(socket);
    case fault::busy:
      return reply(socket, "503 Slow Down", "Retry-After: 0\r\n",
                   "<Error><Code>SlowDown</Code></Error>");
    case fault::too_many:
      return reply(socket, "429 Too Many Requests", "", "");
    case fault::forbidden:
      return reply(socket, "403 Forbidden", "X-Amz-Request-Id: R17\r\n",
                   "<Error><Code>AccessDenied</Code></Error>");
    default:
      break;
    }
    if (const auto said = service ? service(x) : std::nullopt) {
      if (x.method == "PUT")
        forget(x.path);
      return reply(socket, said->status, said->headers, said->body);
    }
    if (const auto to = redirects.find(x.path); to != redirects.end())
      return reply(socket, "302 Found", "Location: " + to->second + "\r\n", "");
    const auto body = content(x.path);
    if (!body || what == fault::not_found)
      return reply(socket, "404 Not Found", "", "<Error><Code>NoSuchKey</Code></Error>");
    const auto match = x.headers.find("If-Match");
    if (honours_if_match && match != x.headers.end() && match->second != etag(*body))
      return reply(socket, "412 Precondition Failed", "", "");
    return send_part(socket, x, *body, what);
  }

  bool send_part(int socket, const request& x, const std::string& body, fault what) {
    if (x.begin >= body.size())
      return reply(socket, "416 Range Not Satisfiable",
                   "Content-Range: bytes */" + std::to_string(body.size()) + "\r\n", "");
    auto begin = static_cast<std::size_t>(x.begin);
    auto end = static_cast<std::size_t>(std::min<std::uint64_t>(x.end, body.size()));
    if (what == fault::ignores_range)
      return reply(socket, "200 OK", version_header(body), body);
    if (what == fault::shortened)
      end = begin + (end - begin) / 2;
    if (what == fault::shifted) {
      const auto size = end - begin;
      begin = begin > 0 ? begin - 1 : begin + 1;
      end = std::min(begin + size, body.size());
    }
    if (begin >= end) // nothing is left of it: a failure of another kind
      return false;
    auto head = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + std::to_string(begin)
                + "-" + std::to_string(end - 1) + "/" + std::to_string(body.size()) + "\r\n"
                + version_header(body);
    if (what == fault::cut_without_length || what == fault::other_body)
      head += "Connection: close\r\n\r\n";
    else if (what == fault::unended)
      head += "Transfer-Encoding: chunked\r\n\r\n";
    else
      head += "Content-Length: " + std::to_string(end - begin) + "\r\n\r\n";
    const auto part = std::string_view{body}.substr(begin, end - begin);
    if (!send(socket, head))
      return false;
    if (what == fault::cut || what == fault::cut_without_length) {
      send(socket, part.substr(0, part.size() / 2));
      return false;
    }
    if (what == fault::other_body) {
      const auto first = part.size() / 2; // which its reader takes before it can know better
      send(socket, std::string_view{body}.substr(0, first));
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
      send(socket, std::string_view{body}.substr(first));
      return false;
    }
    if (what == fault::unended) {
      char size[20];
      const auto end_of_size = std::to_chars(size, size + sizeof size, part.size(), 16).ptr;
      send(socket, std::string{size, end_of_size} + "\r\n" + std::string{part} + "\r\n");
      return false;
    }
    if (what == fault::trickles) {
      send(socket, part.substr(0, 1));
      return wait_for_end(socket);
    }
    return send(socket, part);
  }

  std::string version_header(const std::string& body) const {
    const auto generation = "x-goog-generation: " + std::to_string(version_ + 1000) + "\r\n";
    return (names_generations ? generation : std::string{})
           + (names_versions ? "ETag: " + etag(body) + "\r\n" : std::string{});
  }

  bool reply(int socket, const std::string& status, const std::string& headers,
             const std::string& body) {
    return send(socket, "HTTP/1.1 " + status + "\r\n" + headers
                            + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  /// Until the client gives up, or this ends.
  bool wait_for_end(int socket) {
    char byte = 0;
    while (!is_ending_ && ::recv(socket, &byte, 1, 0) > 0)
      ;
    return false;
  }

  const std::string folder_;
  const choice choose_;
  std::uint16_t port_ = 0;
  const int listener_;
  std::atomic<bool> is_ending_{false};
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> faults_{0};
  std::atomic<std::uint64_t> version_{1};
  std::atomic<std::size_t> under_way_{0};
  std::atomic<std::size_t> most_{0};
  std::mutex files_mutex_;
  std::map<std::string, std::string> files_;
  std::mutex mutex_;
  std::vector<int> open_;
  std::list<std::thread> connections_;
  std::thread thread_;
};

/// One request in `one_in` fails, in one of these ways, as the seed says.
inline fault_server::choice random_faults(std::uint64_t seed, std::uint64_t one_in,
                                          std::vector<fault> kinds) {
  return [=](const fault_server::request& x) {
    std::mt19937_64 random{seed * 1'000'003 + x.number};
    (void)random();
    return random() % one_in == 0 ? kinds[random() % kinds.size()] : fault::none;
  };
}

} // namespace leat::test

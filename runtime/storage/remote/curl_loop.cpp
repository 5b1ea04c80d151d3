#include "runtime/storage/remote/curl_loop.hpp"

#include <curl/curl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <new>

namespace leat {

namespace {

/// More than are ever in flight: otherwise libcurl closes connections that are about to be used.
constexpr long most_kept_connections = 1024;
constexpr std::size_t most_events = 64;

} // namespace

void curl_loop::multi_freeing::operator()(void* x) const noexcept {
  ::curl_multi_cleanup(x);
}

curl_loop::curl_loop()
    : events_(opened([] { return ::epoll_create1(EPOLL_CLOEXEC); })),
      wake_(opened([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); })),
      multi_(::curl_multi_init()) {
  if (!multi_)
    throw std::bad_alloc{};
  epoll_event on{.events = EPOLLIN, .data = {.fd = wake_.get()}};
  if (!events_ || !wake_ || ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, wake_.get(), &on) != 0)
    throw io_error(errno, {.stage = "remote reads", .got = "no watch of connections: "});
  auto* const multi = multi_.get();
  ::curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, most_kept_connections);
  ::curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &curl_loop::on_socket);
  ::curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, static_cast<void*>(this));
  ::curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &curl_loop::on_timer);
  ::curl_multi_setopt(multi, CURLMOPT_TIMERDATA, static_cast<void*>(this));
}

void curl_loop::add(void* easy) {
  ::curl_multi_add_handle(multi_.get(), easy);
}

void curl_loop::remove(void* easy) {
  ::curl_multi_remove_handle(multi_.get(), easy);
}

int curl_loop::on_socket(void*, int socket, int what, void* self, void*) noexcept {
  static_cast<curl_loop*>(self)->watch(socket, what);
  return 0;
}

int curl_loop::on_timer(void*, long ms, void* self) noexcept {
  auto& due = static_cast<curl_loop*>(self)->due_;
  if (ms < 0)
    due.reset();
  else
    due = clock::now() + std::chrono::milliseconds{ms};
  return 0;
}

void curl_loop::watch(int socket, int what) noexcept {
  if (what == CURL_POLL_REMOVE) {
    (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, socket, nullptr); // it may be closed
    return;
  }
  epoll_event on{.events = 0, .data = {.fd = socket}};
  if ((what & CURL_POLL_IN) != 0)
    on.events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0)
    on.events |= EPOLLOUT;
  // It may be new, or have the number of one that was closed meanwhile.
  if (::epoll_ctl(events_.get(), EPOLL_CTL_MOD, socket, &on) != 0 && errno == ENOENT)
    (void)::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket, &on);
}

int curl_loop::wait_ms(int most_ms) const {
  if (!due_)
    return most_ms;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due_ - clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, most_ms));
}

void curl_loop::turn(int most_ms) {
  std::array<epoll_event, most_events> found;
  const int count =
      ::epoll_wait(events_.get(), found.data(), static_cast<int>(found.size()), wait_ms(most_ms));
  for (int i = 0; i < count; ++i) {
    const auto& x = found[static_cast<std::size_t>(i)];
    if (x.data.fd == wake_.get()) {
      std::uint64_t calls = 0;
      (void)uninterrupted([&] { return ::read(wake_.get(), &calls, sizeof calls); });
      continue;
    }
    const auto has = [&](std::uint32_t y) { return (x.events & y) != 0; };
    // An error is found by reading, with its words.
    act(x.data.fd, (has(EPOLLIN | EPOLLERR | EPOLLHUP) ? CURL_CSELECT_IN : 0)
                       | (has(EPOLLOUT) ? CURL_CSELECT_OUT : 0));
  }
  if (due_ && *due_ <= clock::now()) {
    due_.reset();
    act(CURL_SOCKET_TIMEOUT, 0);
  }
}

void curl_loop::act(int socket, int what) noexcept {
  int running = 0;
  (void)::curl_multi_socket_action(multi_.get(), socket, what, &running);
}

std::optional<curl_loop::ended_transfer> curl_loop::next_ended() {
  int left = 0;
  while (const auto* message = ::curl_multi_info_read(multi_.get(), &left))
    if (message->msg == CURLMSG_DONE)
      return ended_transfer{.easy = message->easy_handle, .result = message->data.result};
  return {};
}

void curl_loop::wake() noexcept {
  const std::uint64_t one = 1;
  (void)uninterrupted([&] { return ::write(wake_.get(), &one, sizeof one); });
}

} // namespace leat

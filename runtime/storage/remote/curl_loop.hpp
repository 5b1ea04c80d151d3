#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace leat {

/// Transfers of libcurl, all in one thread. What a turn costs depends on how many transfers have
/// something to do, not on how many there are: epoll(7) tells, where curl_multi_perform and
/// curl_multi_poll look at each of them.
class curl_loop : not_copied {
public:
  /// Throws std::bad_alloc and as `io_error`.
  curl_loop();

  void add(void* easy);
  void remove(void* easy);
  /// Waits until a transfer has something to do, `wake` was called, or `most_ms` have passed; then
  /// does what there is to do.
  void turn(int most_ms);

  struct ended_transfer {
    void* easy = nullptr;
    int result = 0;
  };
  /// The next one that has ended, which is still to be removed.
  std::optional<ended_transfer> next_ended();

  /// Ends a wait, now or the next one. Any thread.
  void wake() noexcept;

private:
  using clock = std::chrono::steady_clock;
  struct multi_freeing {
    void operator()(void* x) const noexcept;
  };

  static int on_socket(void* easy, int socket, int what, void* self, void* ours) noexcept;
  static int on_timer(void* multi, long ms, void* self) noexcept;
  void watch(int socket, int what) noexcept;
  int wait_ms(int most_ms) const;
  void act(int socket, int what) noexcept;

  file_descriptor events_;
  file_descriptor wake_;
  /// When libcurl wants to be called, whatever happens on its connections.
  std::optional<clock::time_point> due_;
  /// The last one, as its end calls the functions above.
  std::unique_ptr<void, multi_freeing> multi_;
};

} // namespace leat

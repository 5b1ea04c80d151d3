#include "runtime/children/function_process.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/uninterrupted.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leat {

namespace {

static_assert(child_socket == first_descriptor_of_child
              && child_requests == first_descriptor_of_child + 1
              && child_content == first_descriptor_of_child + 2);

[[noreturn]] void refuse(const std::string& stage, int reason) {
  throw error(errc::no_resources,
              {.stage = stage,
               .got = "no connection to a process: " + std::generic_category().message(reason),
               .needed = "a machine that lets processes begin"});
}

struct socket_pair {
  file_descriptor ours;
  file_descriptor theirs;
};

socket_pair connected(const std::string& stage) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    refuse(stage, errno);
  return {file_descriptor{ends[0]}, file_descriptor{ends[1]}};
}

/// Leaves the file's place at its beginning, where the child reads.
void write_content(const std::string& stage, int file, std::string_view content) {
  for (std::size_t at = 0; at < content.size();) {
    const auto rest = content.substr(at);
    const auto size = uninterrupted(
        [&] { return ::pwrite(file, rest.data(), rest.size(), static_cast<off_t>(at)); });
    if (size <= 0)
      refuse(stage, errno);
    at += static_cast<std::size_t>(size);
  }
}

} // namespace

void function_process::send(std::uint64_t operation, std::span<function_call> calls) {
  for (bool again = true;; again = false) {
    if (!channel_)
      begin();
    value_writer to{channel_->requests};
    to.as_it_is(std::uint64_t{0}); // see begun()
    to.number(operation);
    to.number(calls.size());
    for (const auto& call : calls)
      write_call(to, call);
    if (send_message({child_message::kind::calls, to.size(), channel_->requests.bytes().size()}))
      break;
    if (!again)
      break;     // receive() reports its end
    (void)end(); // it died while it was idle
  }
}

std::optional<child_message> function_process::receive() {
  child_message found;
  ssize_t size = 0;
  do {
    size = ::recv(channel_->socket.get(), &found, sizeof found, MSG_DONTWAIT);
    // If the process ended with calls unread, ECONNRESET comes before the messages that it had
    // sent.
  } while (size < 0 && (errno == EINTR || errno == ECONNRESET));
  if (size != static_cast<ssize_t>(sizeof found))
    return std::nullopt;
  if (found.what == child_message::kind::ready)
    is_ready_ = true;
  else
    has_made_calls_ = true;
  channel_->replies.follow(found.size);
  return found;
}

value_reader function_process::content(const child_message& x) const noexcept {
  const auto all = channel_->replies.bytes();
  return value_reader{all.first(std::min<std::size_t>(x.used, all.size()))};
}

std::uint64_t function_process::begun() const noexcept {
  return number_of_begun(channel_->requests.bytes()).load(std::memory_order_relaxed);
}

void function_process::begin() {
  const auto start = recipe_->start();
  auto [ours, theirs] = connected(recipe_->stage);
  auto requests = shared_memory::make_file("leat requests");
  auto replies = shared_memory::make_file("leat replies");
  write_content(recipe_->stage, replies.get(), start.content);
  const std::array given{theirs.get(), requests.get(), replies.get()};
  channel_.reset(new channel{std::move(ours),
                             shared_memory{std::move(requests)},
                             shared_memory{std::move(replies)},
                             {recipe_->stage, start.arguments, given}});
  is_ready_ = false;
  has_made_calls_ = false;
}

bool function_process::send_message(const child_message& x) const noexcept {
  return uninterrupted([&] { return ::send(channel_->socket.get(), &x, sizeof x, MSG_NOSIGNAL); })
         == static_cast<ssize_t>(sizeof x);
}

child_exit function_process::end() noexcept {
  const auto ended = std::exchange(channel_, nullptr);
  is_ready_ = false;
  return ended ? ended->process.end() : child_exit{};
}

child_exit function_process::end_by_itself() noexcept {
  constexpr std::chrono::seconds patience{5};
  if (channel_)
    (void)channel_->process.end_after(patience);
  return end();
}

} // namespace leat

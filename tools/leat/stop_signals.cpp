#include "tools/leat/stop_signals.hpp"

#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/uninterrupted.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace leat::command {

namespace {

bool is_ignored(int signal) {
  struct sigaction x {};
  return ::sigaction(signal, nullptr, &x) == 0 && x.sa_handler == SIG_IGN;
}

} // namespace

stop_signals::stop_signals(std::function<void(int)> first) : first_(std::move(first)) {
  sigemptyset(&taken_);
  for (const int signal : {SIGINT, SIGTERM})
    if (!is_ignored(signal))
      sigaddset(&taken_, signal);
  signals_ = opened([&] { return ::signalfd(-1, &taken_, SFD_CLOEXEC); });
  end_ = opened([] { return ::eventfd(0, EFD_CLOEXEC); });
  if (!signals_ || !end_)
    throw_errno("signals", "", "descriptors to wait for them");
  ::pthread_sigmask(SIG_BLOCK, &taken_, &before_);
  try {
    thread_ = begin_thread("signals", [this] { run(); });
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    throw;
  }
}

stop_signals::~stop_signals() {
  [[maybe_unused]] const auto failed = ::eventfd_write(end_.get(), 1);
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void stop_signals::run() {
  for (;;) {
    std::array<pollfd, 2> all{{{signals_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}}};
    uninterrupted([&] { return ::poll(all.data(), all.size(), -1); });
    if (all[0].revents == 0)
      return; // the job is over
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info)
      continue;
    const auto signal = static_cast<int>(info.ssi_signo);
    if (caught_.exchange(signal) != 0)
      std::_Exit(exit_code_of(signal));
    first_(signal);
  }
}

} // namespace leat::command

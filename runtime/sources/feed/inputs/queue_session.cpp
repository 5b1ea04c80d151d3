#include "runtime/sources/feed/inputs/queue_session.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/remote/certificate_bundle.hpp"

#include <leat/notice.hpp>

namespace leat {

namespace {

std::shared_ptr<const server_trust> take_trust(queue_address& from) {
  const char* const usual = certificate_bundle();
  const server_trust::files files{.authorities = take_parameter(from, "ca", usual ? usual : ""),
                                  .certificate = take_parameter(from, "cert", ""),
                                  .key = take_parameter(from, "key", "")};
  return std::make_shared<const server_trust>("feed's input", from.name, files);
}

} // namespace

queue_place take_place(queue_address& from, std::string_view tls_scheme) {
  return {.name = from.name,
          .server = from.server,
          .patience = take_patience(from),
          .tls = from.scheme == tls_scheme ? take_trust(from) : nullptr};
}

bool queue_session::do_connected(const step& work) {
  try {
    do_until_done(work);
    return true;
  } catch (const error& problem) {
    open_.reset();
    if (problem.code() != errc::interrupted)
      throw;
    return false;
  } catch (...) {
    open_.reset();
    throw;
  }
}

void queue_session::do_until_done(const step& work) {
  for (;;)
    try {
      work(connected());
      if (trials_.done())
        tell_of_connection();
      return;
    } catch (const queue_lost& problem) {
      open_.reset();
      wait_after(problem);
    }
}

queue_connection& queue_session::connected() {
  if (!open_) {
    open_.emplace(to_.server, stop_);
    greet_(*open_);
    if (trials_.greeted(std::chrono::steady_clock::now()))
      tell_of_connection();
  }
  return *open_;
}

void queue_session::tell_of_connection() const {
  notice(to_.name + ": connected again; the connection had been lost (" + why_lost_ + ')');
}

void queue_session::wait_after(const queue_lost& problem) {
  const auto& why = problem.details().got;
  const auto patience = counted(static_cast<std::uint64_t>(to_.patience.count()), "second");
  const auto now = std::chrono::steady_clock::now();
  const auto next = trials_.lost(now);
  if (next.is_first)
    why_lost_ = why;
  if (next.gives_up)
    throw_file_error(
        errc::io, "feed's input", to_.name,
        (next.was_greeted ? "every connection ended at once for " : "no connection for ") + patience
            + " (" + why + ')',
        "a server that answers there, or a longer patience= in the address");
  if (next.is_worth_a_notice)
    notice(to_.name + (next.was_greeted ? ": ends connections at once (" : ": cannot be reached (")
           + why + "); leat tries again for " + patience);
  // Descriptor -1 is no socket: this waits for `stop_` alone.
  (void)wait_for_socket(file_descriptor{}, 0, &stop_, now + next.pause);
}

} // namespace leat

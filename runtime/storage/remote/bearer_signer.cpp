#include "runtime/storage/remote/bearer_signer.hpp"

namespace leat {

namespace {

/// A token that is refused for so many seconds, while another one is asked for, is the only one
/// there is.
constexpr std::int64_t most_seconds_refused = 60;

} // namespace

std::vector<std::string> bearer_signer::headers_for(std::string_view url, std::int64_t time) const {
  const auto& origin = facts_.origin;
  const bool is_here = url.starts_with(origin) && url.size() > origin.size()
                       && (url[origin.size()] == '/' || url[origin.size()] == '?');
  if (!is_here)
    return {};
  auto lines = facts_.headers;
  const auto token = facts_.keeper ? facts_.keeper->current(time) : facts_.token;
  if (!token.is_empty())
    lines.push_back("Authorization: Bearer " + std::string{token.reveal()});
  return lines;
}

request_signer::answer bearer_signer::refused(std::string_view code, std::int64_t,
                                              std::int64_t time) {
  if (!facts_.keeper
      || (code != "401" && code != "ExpiredToken" && code != "AuthenticationRequired"
          && code != "InvalidToken"))
    return answer::give_up;
  const auto token = facts_.keeper->current(time);
  const mutex_lock lock{mutex_};
  if (!refused_.is(token.reveal()) || time - last_ > most_seconds_refused)
    since_ = time; // another token, or one that was of use since
  refused_ = token;
  last_ = time;
  if (time - since_ > most_seconds_refused)
    return answer::give_up;
  facts_.keeper->renew(time);
  return answer::ask_later;
}

} // namespace leat

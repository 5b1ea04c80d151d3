#include "runtime/network/host_list.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"

#include <algorithm>
#include <optional>

namespace leat {

namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

/// "01-03" is read as "01"; nothing if it is no number and no range.
std::optional<std::string_view> first_of_range(std::string_view text) {
  const auto minus = text.find('-');
  const auto first = text.substr(0, minus);
  if (!is_digits(first) || (minus != std::string_view::npos && !is_digits(text.substr(minus + 1))))
    return std::nullopt;
  return first;
}

/// What stands between brackets, numbers and ranges: the first number.
std::optional<std::string_view> first_number(std::string_view inside) {
  std::optional<std::string_view> first;
  for (;;) {
    const auto comma = inside.find(',');
    const auto number = first_of_range(inside.substr(0, comma));
    if (!number)
      return std::nullopt;
    if (!first)
      first = number;
    if (comma == std::string_view::npos)
      return first;
    inside.remove_prefix(comma + 1);
  }
}

/// Reads one entry of a list, up to the comma after it; nothing for one that is not well formed.
class entry_reader {
public:
  explicit entry_reader(std::string_view list) : rest_(list) {}

  bool is_at_end() const { return is_at_end_; }

  std::optional<std::string> next() {
    std::string host;
    while (!rest_.empty() && rest_[0] != ',')
      if (!take_part(host))
        return std::nullopt;
    is_at_end_ = rest_.empty();
    if (!is_at_end_)
      rest_.remove_prefix(1);
    return host.empty() ? std::nullopt : std::optional{host};
  }

private:
  bool take_part(std::string& host) {
    if (rest_[0] == ']')
      return false;
    if (rest_[0] != '[') {
      const auto plain = rest_.substr(0, rest_.find_first_of("[],"));
      host += plain;
      rest_.remove_prefix(plain.size());
      return true;
    }
    const auto end = rest_.find(']');
    const auto number =
        end == std::string_view::npos ? std::nullopt : first_number(rest_.substr(1, end - 1));
    if (!number)
      return false;
    host += *number;
    rest_.remove_prefix(end + 1);
    return true;
  }

  std::string_view rest_;
  bool is_at_end_ = false;
};

} // namespace

std::string first_host(std::string_view list, const std::string& from) {
  entry_reader entries{list};
  std::string first;
  while (!entries.is_at_end()) {
    const auto host = entries.next();
    if (!host)
      refuse_argument(from, excerpt(list),
                      "a list of hosts as Slurm writes it: node[01-03,7],other5");
    if (first.empty())
      first = *host;
  }
  return first;
}

} // namespace leat

#include "runtime/storage/remote/hub/hub_address.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <algorithm>
#include <string_view>

namespace leat {

namespace {

constexpr std::string_view kind_of_data = "datasets/";
constexpr auto form_of_address = "hf://datasets/ORG/NAME@REVISION/PATH";

/// A part of a data set's name.
bool is_repository_name(std::string_view x) noexcept {
  return !x.empty() && x.size() <= 96 && x.front() != '.' && x.front() != '-'
         && std::all_of(x.begin(), x.end(),
                        [](char c) { return is_word_char(c) || c == '-' || c == '.'; });
}

std::string with_slashes_encoded(const std::string& revision) {
  std::string text;
  for (const char x : revision)
    text += x == '/' ? std::string{"%2F"} : x == '%' ? std::string{"%25"} : std::string{x};
  return text;
}

} // namespace

hub_address::hub_address(const std::string& name, const std::string& stage) {
  const auto refuse = [&](std::string got, std::string needed) {
    throw_file_error(errc::invalid_argument, stage, as_utf8(without_secrets(name)), std::move(got),
                     std::move(needed));
  };
  auto rest = std::string_view{name}.substr(std::min(name.find("://") + 3, name.size()));
  if (!rest.starts_with(kind_of_data))
    refuse("an address of the Hub that is none of a data set", form_of_address);
  rest.remove_prefix(kind_of_data.size());
  const auto slash = std::min(rest.find('/'), rest.size());
  const auto end = std::min(rest.find('/', slash + 1), rest.size());
  const auto set = rest.substr(0, end);
  const auto at = std::min(set.find('@'), set.size());
  data_set_ = set.substr(0, at);
  const auto revision = percent_decoded(set.substr(std::min(at + 1, set.size())));
  path_ = rest.substr(std::min(end + 1, rest.size()));
  while (path_.ends_with('/'))
    path_.pop_back();
  if (slash == rest.size() || at < slash || !is_repository_name(set.substr(0, slash))
      || !is_repository_name(
          std::string_view{data_set_}.substr(std::min(slash + 1, data_set_.size()))))
    refuse("an address without a data set of the Hub", form_of_address);
  if (!revision || (at < set.size() && revision->empty()) || has_control_character(*revision))
    refuse("a revision that is none",
           "a branch, a tag or a commit: " + std::string{form_of_address});
  revision_ = at == set.size() ? "main" : *revision;
  if (revision_ == "~parquet")
    revision_ = "refs/convert/parquet";
  // A "?" alone stands for a character.
  if (const auto query = path_.find('?');
      query != std::string::npos && path_.find('=', query) != std::string::npos)
    refuse("an address with a query", "one without: it would be shown in errors");
  if (has_control_character(path_))
    refuse("a control character in an address", "printable ones");
}

std::string hub_address::name() const {
  return "hf://datasets/" + data_set_ + "@" + with_slashes_encoded(revision_) + "/" + path_;
}

bool hub_address::has_commit() const noexcept {
  constexpr std::size_t digits = 40;
  return revision_.size() == digits
         && revision_.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string hub_address::facts_url(const std::string& endpoint) const {
  return endpoint + "/api/datasets/" + data_set_ + "/revision/" + percent_encoded(revision_, false);
}

std::string hub_address::file_url(const std::string& endpoint, const std::string& commit) const {
  return endpoint + "/datasets/" + data_set_ + "/resolve/" + commit + "/"
         + percent_encoded(path_, true);
}

std::string hub_address::list_url(const std::string& endpoint, const std::string& commit) const {
  return endpoint + "/api/datasets/" + data_set_ + "/tree/" + commit
         + (path_.empty() ? "" : "/" + percent_encoded(path_, true)) + "?recursive=false";
}

} // namespace leat

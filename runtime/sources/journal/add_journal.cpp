#include "runtime/base/error_in_flight.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sources/journal/journal.hpp"
#include "runtime/sources/live/once_origin.hpp"
#include "runtime/sources/live/reading_feed.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace leat {

namespace {

[[noreturn]] void refuse(std::string got, std::string needed) {
  refuse_argument("journal", std::move(got), std::move(needed));
}

/// A name as part of a file's name: every byte other than letters, digits, '-' and '_' becomes
/// "%XX".
std::string file_name_of(std::string_view name) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (plain.find(c) != plain.npos)
      text += c;
    else
      (text += '%') += {digits[byte / 16], digits[byte % 16]};
  }
  return text;
}

std::shared_ptr<live_source> with_journal(std::shared_ptr<once_input> input,
                                          std::filesystem::path directory,
                                          const journal_options& options) {
  auto records = std::make_unique<journal>(
      std::move(directory), journal_format{input->format(), options.file_bytes, options.sync});
  return std::make_shared<reading_feed>(std::move(input), std::move(records));
}

std::filesystem::path folder_of(const std::filesystem::path& directory, const std::string& name,
                                std::uint64_t ordinal) {
  return directory / (file_name_of(name) + '-' + std::to_string(ordinal));
}

/// Copies a tree and gives each of its once sources a journal; a source that occurs in it several
/// times stays one source.
class journal_adder {
public:
  journal_adder(std::filesystem::path directory, journal_options options)
      : directory_(std::move(directory)), options_(options) {}

  operator_ptr copy(const operator_ptr& x) {
    if (const auto found = copies_.find(x); found != copies_.end())
      return found->second;
    auto made = *x;
    for (auto& input : made.inputs)
      input = copy(input);
    if (made.feed && made.op != "feed") { // whose own process has one
      const auto ordinal = sources_++;
      made.feed = journaled(made.feed, ordinal);
      if (made.origin)
        made.origin = journaled(*made.origin, ordinal);
    }
    return copies_[x] = std::make_shared<const operator_node>(std::move(made));
  }

private:
  /// Opens no journal yet.
  std::shared_ptr<lazy_live> journaled(const std::shared_ptr<lazy_live>& plain,
                                       std::uint64_t ordinal) const {
    return std::make_shared<lazy_live>(
        [plain, directory = directory_, options = options_, ordinal] {
          const auto feed = std::dynamic_pointer_cast<reading_feed>(plain->get());
          if (!feed || feed->has_journal())
            refuse(feed ? "a source that has a journal already" : "a source that can be read again",
                   "one journal per source, and only for sources that exist once");
          return with_journal(feed->input(), folder_of(directory, feed->name(), ordinal), options);
        });
  }
  std::shared_ptr<const once_origin> journaled(const once_origin& x, std::uint64_t ordinal) const {
    return std::make_shared<const once_origin>(
        once_origin{.input = x.input,
                    .journal = folder_of(directory_, x.input->name(), ordinal),
                    .options = options_,
                    .journals = x.journals + 1});
  }

  const std::filesystem::path directory_;
  const journal_options options_;
  /// Once sources seen so far.
  std::uint64_t sources_ = 0;
  std::map<operator_ptr, operator_ptr> copies_;
};

} // namespace

pipeline pipeline::journal(std::string directory, journal_options options) const {
  if (directory.empty() || options.file_bytes == 0)
    refuse(directory.empty() ? "no directory" : "files of 0 bytes",
           "a directory, and file_bytes of at least 1");
  check_is_path(directory, "journal");
  return pipeline{journal_adder{std::move(directory), options}.copy(root_)};
}

} // namespace leat

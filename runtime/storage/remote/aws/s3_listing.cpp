#include "runtime/storage/remote/aws/s3_listing.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <pugixml.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace leat {

namespace {

constexpr auto needed_list = "a list of objects, as S3 gives it (ListObjectsV2)";

std::uint64_t number_in(const pugi::xml_node& x, const std::string& folder) {
  const std::string_view text{x.text().get()};
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || end.ec != std::errc{} || end.ptr != text.data() + text.size())
    throw_file_error(errc::io, "list", folder, "an object without a size", needed_list);
  return number;
}

/// A key is spelled as it is, or as in a form, with "+" for a space.
std::optional<std::string> key_in(const pugi::xml_node& x, bool is_encoded) {
  std::string text{x.text().get()};
  if (!is_encoded)
    return text;
  std::replace(text.begin(), text.end(), '+', ' ');
  return percent_decoded(text);
}

/// The name below the prefix; empty for the folder itself.
std::string name_below(const std::optional<std::string>& key, const std::string& prefix,
                       const std::string& folder) {
  if (!key || !key->starts_with(prefix))
    throw_file_error(errc::io, "list", folder, "an object that lies elsewhere", needed_list);
  auto name = key->substr(prefix.size());
  if (name.ends_with('/'))
    name.pop_back();
  return name;
}

/// As the object's own responses name its version.
const char* tag_of(const pugi::xml_node& x) {
  const auto generation = x.child("Generation");
  return generation ? generation.text().get() : x.child("ETag").text().get();
}

} // namespace

std::string s3_page_query(const std::string& prefix, const std::string& continuation) {
  const auto first = continuation.empty()
                         ? std::string{}
                         : "continuation-token=" + percent_encoded(continuation, false) + "&";
  return first
         + "delimiter=%2F&encoding-type=url&list-type=2&prefix=" + percent_encoded(prefix, false);
}

s3_page read_s3_page(const std::string& xml, const std::string& prefix, const std::string& folder) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(xml.data(), xml.size());
  const auto root = document.child("ListBucketResult");
  if (!parsed || !root)
    throw_file_error(errc::io, "list", folder,
                     parsed ? std::string{"XML of another kind"}
                            : std::string{"no XML: "} + parsed.description(),
                     needed_list);
  // Not every service does as it is asked.
  const bool is_encoded = std::string_view{root.child("EncodingType").text().get()} == "url";
  s3_page page;
  for (const auto& x : root.children("Contents")) {
    auto name = name_below(key_in(x.child("Key"), is_encoded), prefix, folder);
    // A key that ends with "/" is made by tools that show folders; it is no file.
    if (name.empty() || std::string_view{x.child("Key").text().get()}.ends_with('/'))
      continue;
    page.entries.push_back({.name = std::move(name),
                            .is = object_kind::plain,
                            .version = object_version{.size = number_in(x.child("Size"), folder),
                                                      .mtime_ns = object_version::no_time,
                                                      .tag = tag_of(x)}});
  }
  for (const auto& x : root.children("CommonPrefixes"))
    if (auto name = name_below(key_in(x.child("Prefix"), is_encoded), prefix, folder);
        !name.empty())
      page.entries.push_back({.name = std::move(name), .is = object_kind::folder});
  if (root.child("IsTruncated").text().as_bool()) {
    page.next = root.child("NextContinuationToken").text().get();
    if (page.next.empty())
      throw_file_error(errc::io, "list", folder, "a list that is cut off", needed_list);
  }
  return page;
}

} // namespace leat

#pragma once

#include <string>

namespace leat {

/// A file or folder of a data set of the Hub: "hf://datasets/ORG/NAME@REVISION/PATH". Without a
/// revision it is "main"; "~parquet" is what the Hub itself has made of the data; a "/" in one is
/// written %2F. A path is taken as it is, nothing in it is percent-encoded.
class hub_address {
public:
  /// Throws `errc::invalid_argument` with this `stage`.
  hub_address(const std::string& name, const std::string& stage);

  /// "ORG/NAME"
  const std::string& data_set() const noexcept { return data_set_; }
  const std::string& revision() const noexcept { return revision_; }
  /// Without a "/" at its end; empty: all of the data set.
  const std::string& path() const noexcept { return path_; }
  /// In the only form that leat uses for it.
  std::string name() const;
  /// Whether the revision is a commit, which nobody can change.
  bool has_commit() const noexcept;

  // What is asked for, of a service:
  std::string facts_url(const std::string& endpoint) const;
  std::string file_url(const std::string& endpoint, const std::string& commit) const;
  std::string list_url(const std::string& endpoint, const std::string& commit) const;

private:
  std::string data_set_;
  std::string revision_;
  std::string path_;
};

} // namespace leat

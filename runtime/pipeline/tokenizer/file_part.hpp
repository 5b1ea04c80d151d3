#pragma once

#include "runtime/pipeline/tokenizer/byte_pairs.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace leat {

/// A place in a tokenizer.json, which must outlive it. What is missing is null. Members throw
/// `std::invalid_argument`, with the place's name, for what they do not find there.
class file_part {
public:
  file_part(const nlohmann::json& x, std::string name) : x_(x), name_(std::move(name)) {}

  const nlohmann::json& operator*() const noexcept { return x_; }
  bool is_null() const { return x_.is_null(); }
  file_part at(const char* key) const;
  std::string text() const;
  std::string text_or(const char* preset) const { return is_null() ? preset : text(); }
  bool flag_or(bool preset) const;
  /// A token.
  token_id number() const;
  /// Nothing if it is null.
  std::vector<file_part> list() const;
  std::string type() const { return is_null() ? "" : at("type").text_or(""); }

  [[noreturn]] void refuse(const std::string& needed) const;

private:
  const nlohmann::json& x_;
  std::string name_;
};

} // namespace leat

#pragma once

#include <leat/tensor.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// What fields of JSON are to be: elements of a type, or nothing for bytes.
class json_types {
public:
  using type = std::optional<dtype>;

  json_types() = default;
  /// From names of fields to those of types: "f64", "bytes". Throws `errc::invalid_argument` for
  /// types that are neither, or have 16 bits and a fraction; errors have this `stage`.
  explicit json_types(const std::map<std::string, std::string>& of,
                      const std::string& stage = "json_lines.types");

  /// "score:f64", as pipelines have it, by name.
  std::vector<std::string> texts() const;

  /// The field's type; null where none is given.
  const type* find(std::string_view name) const noexcept {
    const auto found = types_.empty() ? types_.end() : types_.find(name);
    return found == types_.end() ? nullptr : &found->second;
  }

private:
  std::map<std::string, type, std::less<>> types_;
};

/// The names in such texts, for the constructor. Throws `errc::invalid_argument` for other texts,
/// and for a name that comes twice; they have this `stage`.
std::map<std::string, std::string> json_types_in(const std::vector<std::string>& texts,
                                                 const std::string& stage = "json_lines.types");

} // namespace leat

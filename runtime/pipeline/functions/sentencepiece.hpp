#pragma once

#include <leat/functions.hpp>

#include <optional>
#include <string>

namespace leat {

/// As `sentencepiece`; also refuses a model whose hash is not this one, if one is given.
map_stage sentencepiece_of_hash(const std::string& path, const std::optional<std::string>& hash,
                                sentencepiece_options options);

} // namespace leat

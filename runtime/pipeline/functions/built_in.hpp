#pragma once

#include <leat/functions.hpp>
#include <leat/pipeline.hpp>
#include <leat/tokenize.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace leat {

/// Makes a function from its parameters as written in a pipeline's text ("field=a keep=50"). Throws
/// `errc::invalid_argument` for parameters that do not fit.
template <class Stage>
using stage_maker = std::function<Stage(const std::string& parameters)>;

template <class Stage>
using stage_makers = std::map<std::string, stage_maker<Stage>>;

/// leat's own functions by name@version.
stage_makers<map_stage> built_in_maps();
stage_makers<filter_stage> built_in_predicates();
stage_makers<flat_map_stage> built_in_flat_maps();
stage_makers<scan_stage> built_in_scans();

/// As `sentencepiece`; also refuses a model whose hash is not this one, if one is given.
map_stage sentencepiece_of_hash(const std::string& path, const std::optional<std::string>& hash,
                                sentencepiece_options options);

/// As `tokenize`, in the same way.
map_stage tokenize_of_hash(const std::string& path, const std::optional<std::string>& hash,
                           tokenize_options options);

} // namespace leat

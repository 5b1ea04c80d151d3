#pragma once

#include "runtime/pipeline/option_words.hpp"

#include <leat/functions.hpp>

namespace leat {

inline constexpr option_words<white_space, 3> white_spaces{
    {{"keep", white_space::keep}, {"lines", white_space::lines}, {"all", white_space::all}}};

} // namespace leat

#pragma once

#include "runtime/pipeline/option_words.hpp"

#include <leat/functions.hpp>

namespace leat {

inline constexpr option_words<white_space, 3> white_spaces{
    {{"keep", white_space::keep}, {"lines", white_space::lines}, {"all", white_space::all}}};

inline constexpr option_words<unicode_form, 5> unicode_forms{{{"keep", unicode_form::keep},
                                                              {"nfc", unicode_form::nfc},
                                                              {"nfd", unicode_form::nfd},
                                                              {"nfkc", unicode_form::nfkc},
                                                              {"nfkd", unicode_form::nfkd}}};

} // namespace leat

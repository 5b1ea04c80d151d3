#pragma once

#include <filesystem>

namespace leat {

/// The folder of the library, module or program that this is a part of; empty if nobody knows.
std::filesystem::path own_folder();

} // namespace leat

#pragma once

#include <leat/loader.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace leat::command {

/// Adds what one rank did to what others did.
void add_device(const std::optional<device_stats>& x, std::optional<device_stats>& to);

/// As --json has it; null without a device.
nlohmann::json device_to_json(const std::optional<device_stats>& x);

/// A line for people: what was copied; how images were decoded.
std::string device_text(const device_stats& x);
std::string decoder_text(const decoder_stats& x);

} // namespace leat::command

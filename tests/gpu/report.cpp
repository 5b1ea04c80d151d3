#include "tests/gpu/report.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdio>
#include <iostream>

namespace leat::gpu_check {

namespace {

std::atomic<bool> is_any_bad{false};

void print(const std::string& check, const std::string& wanted, const std::string& found,
           const char* result) {
  const nlohmann::ordered_json line = {
      {"check", check}, {"wanted", wanted}, {"found", found}, {"result", result}};
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

} // namespace

void report(const row& x) {
  if (x.is_good.has_value() && !*x.is_good)
    is_any_bad = true;
  print(x.check, x.wanted, x.found, !x.is_good ? "measured" : *x.is_good ? "good" : "BAD");
}

void report_skipped(const std::string& check, const std::string& why) {
  print(check, "", why, "skipped");
}

bool has_failed() {
  return is_any_bad;
}

std::string number(double x, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

} // namespace leat::gpu_check

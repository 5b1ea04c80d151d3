#include <leat/notice.hpp>

#include <cstdio>
#include <utility>

namespace leat {

namespace {

notice_handler& current() {
  static notice_handler handler = [](const std::string& text) {
    std::fprintf(stderr, "leat: %s\n", text.c_str());
  };
  return handler;
}

} // namespace

void set_notice_handler(notice_handler handler) {
  current() = std::move(handler);
}

void notice(const std::string& text) {
  if (current())
    current()(text);
}

} // namespace leat

#include "runtime/network/certs/renewed_certificates.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <exception>

namespace leat {

namespace {

constexpr std::int64_t told_ahead = 30 * seconds_per_day;

std::int64_t nanoseconds(const timespec& x) {
  return std::int64_t{x.tv_sec} * 1'000'000'000 + x.tv_nsec;
}

} // namespace

renewed_certificates::renewed_certificates(std::string directory, link_roles needed,
                                           std::int64_t now)
    : directory_(std::move(directory)), needed_(needed), seen_(look()),
      current_(std::make_shared<certificates>(directory_, needed_, now)) {
  const mutex_lock lock{mutex_};
  tell_end(now);
}

renewed_certificates::file_states renewed_certificates::look() const {
  file_states all{};
  std::size_t i = 0;
  for (const char* name : {"/ca.pem", "/cert.pem", "/key.pem"}) {
    struct stat x {};
    if (::stat((directory_ + name).c_str(), &x) == 0)
      all.at(i) = {x.st_ino, x.st_size, nanoseconds(x.st_mtim), nanoseconds(x.st_ctim)};
    ++i;
  }
  return all;
}

std::int64_t renewed_certificates::wall_clock() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::shared_ptr<renewed_certificates> certificates_in(const std::string& directory,
                                                      link_roles needed) {
  if (directory.empty())
    return nullptr;
  return std::make_shared<renewed_certificates>(directory, needed,
                                                renewed_certificates::wall_clock());
}

std::shared_ptr<const certificates> renewed_certificates::at(std::int64_t now) {
  const auto found = look();
  const mutex_lock lock{mutex_};
  if (found != seen_) {
    seen_ = found;
    renew(now);
  }
  tell_end(now);
  return current_;
}

void renewed_certificates::renew(std::int64_t now) {
  try {
    current_ = std::make_shared<certificates>(directory_, needed_, now);
    next_telling_ = 0;
  } catch (const std::exception& problem) {
    notice("the certificates in " + directory_
           + " have changed, and are wrong; the old ones stay in use: " + problem.what());
  }
}

void renewed_certificates::tell_end(std::int64_t now) {
  const auto left = current_->end() - now;
  if (left > told_ahead || now < next_telling_)
    return;
  next_telling_ = now + seconds_per_day;
  const auto when = utc_text(current_->end());
  notice(left <= 0
             ? "the certificate in " + directory_ + " ended on " + when
                   + ": other processes refuse new connections (leat certs issue)"
             : "the certificate in " + directory_ + " ends on " + when
                   + ": replace it before that (leat certs issue); no process has to stop for it");
}

} // namespace leat

#include "runtime/order/iterators/recalled_records.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <utility>

namespace leat {

/// The records of one unit.
class recall_pass {
public:
  explicit recall_pass(recalled_records::reader read) : read_(std::move(read)) {}

  void add(const recalled_record& x) {
    const mutex_lock lock{mutex_};
    missing_.emplace(key_of(x), &x);
  }

  void remove(const recalled_record& x) {
    const mutex_lock lock{mutex_};
    if (!x.content_)
      erase(x);
  }

  /// Other threads that need records of the unit wait: they are read on the way, or after it.
  payload_ptr read(const recalled_record& wanted, const std::stop_token& stop) {
    const mutex_lock lock{mutex_};
    while (!wanted.content_) {
      // Several items may be made of one record.
      const auto [begin, end] = missing_.equal_range(missing_.begin()->first);
      const auto content = read_(begin->second->what_, stop);
      for (auto x = begin; x != end; ++x)
        x->second->content_ = content;
      missing_.erase(begin, end);
    }
    return wanted.content_;
  }

private:
  /// Number, offset, length: two that differ in any of them are different records.
  using key = std::array<std::uint64_t, 3>;

  static key key_of(const recalled_record& x) {
    return {x.what_.number, x.what_.offset, x.what_.length};
  }

  void erase(const recalled_record& x) LEAT_REQUIRES(mutex_) {
    auto [at, end] = missing_.equal_range(key_of(x));
    while (at != end && at->second != &x)
      ++at;
    if (at != end)
      missing_.erase(at);
  }

  const recalled_records::reader read_;
  mutex mutex_;
  /// In stored order.
  std::multimap<key, const recalled_record*> missing_ LEAT_GUARDED_BY(mutex_);
};

recalled_record::recalled_record(std::shared_ptr<recall_pass> pass, stream_record what)
    : pass_(std::move(pass)), what_(std::move(what)) {
  pass_->add(*this);
}

recalled_record::~recalled_record() {
  pass_->remove(*this);
}

payload_ptr recalled_record::content(const std::stop_token& stop) const {
  return pass_->read(*this, stop);
}

payload_ptr recalled_records::add(const std::string& unit, stream_record what, const reader& read) {
  std::shared_ptr<recall_pass> pass;
  {
    const mutex_lock lock{mutex_};
    if (passes_.size() >= sweep_at_) {
      std::erase_if(passes_, [](const auto& x) { return x.second.expired(); });
      sweep_at_ = 64 + 2 * passes_.size();
    }
    auto& known = passes_[unit];
    pass = known.lock();
    if (!pass) {
      pass = std::make_shared<recall_pass>(read);
      known = pass;
    }
  }
  return std::make_shared<recalled_record>(std::move(pass), std::move(what));
}

payload_ptr content_of(payload_ptr travels, const std::stop_token& stop) {
  if (const auto* recalled = dynamic_cast<const recalled_record*>(travels.get()))
    return recalled->content(stop);
  return travels;
}

} // namespace leat

#include "actors/runtime_core.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

std::atomic<bool> any_is_abandoned{false};

} // namespace

bool has_abandoned() noexcept {
  return any_is_abandoned;
}

void refuse_after_shutdown() {
  throw_error(errc::shut_down, "loader",
              "a call after shutdown() of its runtime, which ended its threads",
              "a new loader with another runtime, or with the process's own, which is a "
              "new one by then: restore the loader to go on");
}

struct runtime_core::registration::entry {
  explicit entry(runtime_member& x) : member(&x) {}

  template <class Call>
  void tell(Call call) {
    const mutex_lock lock{calling};
    if (member)
      call(*member);
  }

  /// Held during a call: a member's end waits for it.
  mutex calling;
  runtime_member* member LEAT_GUARDED_BY(calling);
};

runtime_core::registration& runtime_core::registration::operator=(registration&& other) noexcept {
  std::swap(core_, other.core_);
  std::swap(entry_, other.entry_);
  return *this;
}

void runtime_core::registration::leave() noexcept {
  if (!entry_)
    return;
  {
    const mutex_lock lock{entry_->calling};
    if (auto* member = std::exchange(entry_->member, nullptr)) {
      member->end();
      core_->note_end_of(*member);
    }
  }
  {
    const mutex_lock lock{core_->mutex_};
    std::erase(core_->members_, entry_);
  }
  entry_ = nullptr;
  core_ = nullptr;
}

runtime_core::registration runtime_core::add(std::shared_ptr<runtime_core> core,
                                             runtime_member& member) {
  auto entry = std::make_shared<registration::entry>(member);
  {
    const mutex_lock lock{core->mutex_};
    if (core->is_shut_down_)
      refuse_after_shutdown();
    core->members_.push_back(entry);
  }
  registration x;
  x.core_ = std::move(core);
  x.entry_ = std::move(entry);
  return x;
}

void runtime_core::note_end_of(const runtime_member& x) noexcept {
  if (x.is_abandoned())
    is_abandoned_ = any_is_abandoned = true;
}

bool runtime_core::is_shut_down() {
  const mutex_lock lock{mutex_};
  return is_shut_down_;
}

actor_host& runtime_core::host() {
  const mutex_lock lock{mutex_};
  if (is_shut_down_)
    refuse_after_shutdown();
  if (!host_)
    host_ = std::make_unique<actor_host>(options_.control_threads);
  return *host_;
}

void runtime_core::shutdown() noexcept {
  const mutex_lock one_at_a_time{ending_};
  std::vector<entry_ptr> members;
  {
    const mutex_lock lock{mutex_};
    is_shut_down_ = true;
    members.swap(members_);
  }
  for (const auto& x : members)
    x->tell([](runtime_member& member) { member.ask_to_end(); });
  for (const auto& x : members)
    x->tell([&](runtime_member& member) {
      member.end();
      note_end_of(member);
    });
  std::unique_ptr<actor_host> host;
  {
    const mutex_lock lock{mutex_};
    host.swap(host_);
  }
  if (is_abandoned_ && host)
    abandoned_host_ = host.release(); // it cannot join the thread
}

} // namespace leat

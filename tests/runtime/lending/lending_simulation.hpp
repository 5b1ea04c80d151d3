#pragma once

#include "runtime/lending/helper_queue.hpp"
#include "runtime/lending/lender_state.hpp"
#include "runtime/lending/lending_messages.hpp"
#include "runtime/rows/row_codec.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/test.hpp"

namespace leat::test {

/// A rank with its workers, helpers that come, stop and vanish, and what lies between them, in
/// virtual time: the real values, and rows that are really made.
class lending_simulation {
public:
  enum class fault {
    /// Or cut off, and the rank is told.
    killed,
    /// Nobody is told: what it sends is lost.
    unseen,
    stopped,
    slow,
    /// Nothing comes out of its cores any more, though it says that it is there.
    hung,
    /// The consumer, for a while.
    consumer_stops,
  };
  struct wish {
    std::uint64_t helpers = 2;
    std::uint64_t faults = 20;
    /// One of these at a time.
    std::vector<fault> kinds = {fault::killed, fault::unseen, fault::stopped,
                                fault::slow,   fault::hung,   fault::consumer_stops};
    /// Helpers that make no row of this job.
    std::uint64_t unable = 0;
    /// One in so many rows ends each helper that makes it; 0: none does.
    std::uint64_t one_is_deadly = 0;
  };

  lending_simulation(std::uint64_t seed, const wish& how)
      : chance_(seed), how_(how), plan_(noisy_plan(20 + draw(200), 4 + draw(12))),
        settings_{.budget = 4000 + static_cast<std::int64_t>(draw(20'000)),
                  .most_offer_bytes = 4000,
                  .patience = static_cast<std::int64_t>(1 + draw(100)) * ms,
                  .row_bytes = 1 + static_cast<std::int64_t>(draw(400))},
        lender_(settings_), order_(order_of_rank(*plan_, epochs)),
        maker_(plan_, std::make_shared<worker_record>()) {
    const auto slots = 1 + draw(4);
    for (std::uint64_t i = 0; i < slots; ++i)
      slots_.push_back(std::make_shared<batch_slot>(plan_->layout, rows_of_rank(*plan_)));
    far_ = std::make_unique<batch_slot>(plan_->layout, 1);
    local_ = 1 + draw(2);
    for (std::uint64_t i = 0; i < how_.helpers; ++i) {
      helpers_.push_back({.cores = 1 + draw(3), .speed = draw(4) == 0 ? 20U : 1U});
      at(draw(50) * ms, [this, i] { join(i); });
    }
    for (std::uint64_t i = 0; i < how_.faults && how_.helpers > 0; ++i)
      at(draw(1000) * ms, [this] { break_something(); });
  }

  /// All batches of the job, as they were handed over.
  std::vector<finished_batch> run() {
    open_slots();
    pump();
    while (!is_over_) {
      REQUIRE(!events_.empty());
      REQUIRE(now_ < 300'000 * ms); // else it is stuck
      const auto next = events_.begin();
      const auto tick = std::max(lender_.next_tick(now_), now_ + ms);
      if (!is_sending_ && tick < next->first) {
        now_ = tick;
        pump();
        continue;
      }
      now_ = std::max(now_, next->first);
      const auto what = std::move(next->second);
      events_.erase(next);
      what();
      check_bounds();
      pump();
    }
    return made_;
  }

  /// The same, made by nobody but a worker.
  std::vector<finished_batch> expected() {
    auto all = expected_batches(plan_, epochs);
    all.pop_back(); // the end
    return all;
  }

  lender_counts counts() const { return lender_.counts(); }
  std::uint64_t made_here() const { return made_here_; }
  /// Offers that helpers gave up because nobody wanted their rows any more.
  std::uint64_t cancelled() const { return cancelled_; }
  /// How many helpers each deadly row has ended, by epoch and position.
  const std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t>& deaths() const {
    return deaths_;
  }

private:
  static constexpr std::int64_t ms = 1'000'000;
  static constexpr std::uint64_t epochs = 2;
  /// An offer may turn out to be larger than its rows before let expect.
  static constexpr std::int64_t unforeseen = 4000 + 2100;

  struct helper {
    std::uint64_t cores = 1;
    std::uint64_t speed = 1;
    helper_queue queue = {};
    std::uint64_t busy = 0;
    /// 0: none. What is under way by an older link is lost.
    std::uint64_t link = 0;
    /// The rank heard of it.
    bool is_known = false;
    std::int64_t stopped_until = 0;
    std::int64_t slow_until = 0;
    bool hangs = false;
  };

  std::uint64_t draw(std::uint64_t below) { return chance_() % below; }
  void at(std::int64_t time, std::function<void()> what) { events_.emplace(time, std::move(what)); }
  void after(std::int64_t time, std::function<void()> what) { at(now_ + time, std::move(what)); }
  std::int64_t latency() { return static_cast<std::int64_t>(draw(10)) * ms / 5; }
  /// Runs it once the process is not stopped, unless its link is another one by then.
  void in_helper(std::uint64_t i, std::uint64_t link, std::function<void()> what) {
    auto& x = helpers_[i];
    if (x.stopped_until > now_)
      return at(x.stopped_until, [this, i, link, what] { in_helper(i, link, what); });
    if (x.link == link)
      what();
  }

  // -- the rank
  void open_slots() {
    while (!slots_.empty() && !is_ended_) {
      auto slot = slots_.back();
      REQUIRE(order_->open(next_));
      if (next_.plan.what == batch_plan::kind::end) {
        is_ended_ = true;
        break;
      }
      slots_.pop_back();
      slot->open(next_, true);
      open_.push_back(slot);
      lender_.opened(slot);
    }
    hand_over();
  }

  void hand_over() {
    while (!open_.empty() && open_.front()->complete() && now_ >= consumer_stops_until_) {
      auto slot = open_.front();
      open_.pop_front();
      for (std::size_t row = 0; row < slot->num_rows(); ++row) // what is there counts
        maker_.hash(slot->request(row), slot->memory(), row, slot->result(row));
      slot->close();
      made_.push_back(finished(*slot));
      slot->release();
      slots_.insert(slots_.begin() + static_cast<std::ptrdiff_t>(draw(slots_.size() + 1)), slot);
      if (!is_ended_)
        return open_slots();
    }
    is_over_ = is_ended_ && open_.empty();
  }

  void pump() {
    while (!is_sending_ && lend())
      ;
    while (busy_ < local_ && work_here())
      ++busy_;
  }

  /// What the lender's thread does in one go.
  bool lend() {
    const auto due = lender_.tick(now_);
    for (const auto link : due.dead)
      lose(link);
    for (const auto& [link, offers] : due.not_wanted)
      cancel(link, offers);
    for (auto& x : lender_.take_for_here())
      for_here_.push_back(std::move(x));
    const auto offer = lender_.next_offer(now_);
    if (offer)
      read(*offer);
    return offer.has_value();
  }

  /// Once the lender's thread is not busy.
  void in_lender(std::function<void()> what) {
    if (is_sending_)
      waits_for_lender_.push_back(std::move(what));
    else
      what();
  }

  /// While it is read, nobody else can take a row.
  void read(const lender_state::offer& x) {
    is_sending_ = true;
    std::vector<row_place> held;
    lender_state::sending how{.time = static_cast<std::int64_t>(draw(5)) * ms};
    std::vector<std::string> requests;
    std::vector<std::string> records;
    for (std::size_t i = 0; i < x.rows.size(); ++i) {
      const auto& row = x.rows[i];
      const bool is_held = row.slot->take_lent(row.ticket, row.row);
      if (is_held)
        held.push_back(row);
      const bool fits = how.bytes == 0 || how.bytes < settings_.most_offer_bytes;
      if (!is_held || !fits || draw(50) == 0)
        (is_held && fits ? how.declined : how.unsent).push_back(i);
      requests.push_back(is_held ? encode(row.slot->request(row.row)) : "");
      records.emplace_back(draw(2000), 'r');
      if (how.unsent.empty() || how.unsent.back() != i)
        how.bytes += static_cast<std::int64_t>(requests.back().size() + records.back().size());
    }
    std::vector<offered_row> rows;
    for (std::size_t i = 0; i < x.rows.size(); ++i)
      rows.push_back({requests[i], records[i]});
    const bool is_any = how.unsent.size() + how.declined.size() < x.rows.size();
    how.bytes = is_any ? how.bytes : 0;
    after(how.time, [this, x, held, how, bytes = encode(rows), is_any] {
      for (const auto& row : held) {
        row.slot->put_back(row.row);
        if (row.is_dealt_here)
          for_here_.push_back(row);
      }
      lender_.sent(x, how, now_);
      is_sending_ = false;
      if (is_any)
        send(x, bytes);
      for (const auto& what : std::exchange(waits_for_lender_, {}))
        what();
    });
  }

  bool work_here() {
    while (!for_here_.empty()) {
      const auto x = for_here_.front();
      for_here_.pop_front();
      if (x.slot->take_lent(x.ticket, x.row)) {
        make_here(x);
        return true;
      }
    }
    for (const auto& slot : open_)
      if (const auto rows = slot->claim(slot->ticket(), slot->num_rows(), 0, 1)) {
        make_here({slot, slot->ticket(), static_cast<std::uint32_t>(rows.first)});
        return true;
      }
    return false;
  }

  void make_here(const row_place& x) {
    after(static_cast<std::int64_t>(1 + draw(20)) * ms, [this, x] {
      REQUIRE(x.slot->ticket() == x.ticket);
      row_places places;
      x.slot->result(x.row).clear();
      maker_.run(x.slot->request(x.row), places.again(x.slot->memory(), x.row),
                 x.slot->result(x.row));
      --busy_;
      ++made_here_;
      finish(x);
    });
  }

  void finish(const row_place& x) {
    REQUIRE(x.slot->holder(x.row).state != row_holder::phase::done);
    if (x.slot->finish(x.row))
      hand_over();
  }

  void send(const lender_state::offer& x, const std::string& bytes) {
    const auto i = owner_of(x.link);
    if (!i) // it vanished, and nobody has noticed yet
      return;
    after(latency(), [this, i = *i, link = x.link, number = x.number, bytes] {
      in_helper(i, link, [this, i, link, number, bytes] {
        helpers_[i].queue.add(
            {link, number, std::make_shared<const std::vector<char>>(bytes.begin(), bytes.end())});
        work(i);
      });
    });
  }

  void receive(std::uint64_t link, std::uint64_t offer, const std::string& bytes) {
    lender_.heard(link, now_);
    const auto rows = decode_answer(bytes);
    REQUIRE(rows);
    for (const auto& x : *rows) {
      if (!x.is_made) {
        lender_.declined(link, offer, x.index, now_);
        continue;
      }
      const auto row = lender_.answered(
          link, offer, x.index,
          {static_cast<std::int64_t>(x.took), static_cast<std::int64_t>(x.result.size())}, now_);
      if (!row)
        continue;
      REQUIRE(row->ticket == row->slot->ticket());
      row_places places;
      const auto target = places.again(row->slot->memory(), row->row);
      if (decode_result(x.result, &target, row->slot->result(row->row)))
        finish(*row);
      else
        lender_.put_back(*row);
    }
  }

  void lose(std::uint64_t link) {
    lender_.lost(link);
    if (const auto i = owner_of(link))
      after(latency(), [this, i = *i, link] { vanish(i, link); });
  }

  void cancel(std::uint64_t link, const std::vector<std::uint64_t>& offers) {
    const auto i = owner_of(link);
    if (!i)
      return;
    after(latency(), [this, i = *i, link, offers] {
      in_helper(i, link, [this, i, link, offers] {
        for (const auto& task : helpers_[i].queue.cancel(link, offers))
          answer_none(task);
      });
    });
  }

  /// Of an offer that was cancelled.
  void answer_none(const helper_queue::task& task) {
    ++cancelled_;
    const auto rows = decode_offer({task.bytes->data(), task.bytes->size()});
    REQUIRE(rows);
    after(latency(), [this, link = task.link, offer = task.offer,
                      bytes = encode_not_made(0, rows->size())] { receive(link, offer, bytes); });
  }

  void check_bounds() {
    std::int64_t sum = 0;
    for (const auto& [link, window] : windows_) {
      const auto used = lender_.under_way(link).bytes;
      REQUIRE(used >= 0);
      REQUIRE(used <= std::max(window, settings_.most_offer_bytes) + unforeseen);
      sum += used;
    }
    REQUIRE(lender_.under_way().bytes == sum);
    REQUIRE(sum <= std::max(settings_.budget, settings_.most_offer_bytes) + unforeseen);
  }

  // -- helpers
  std::optional<std::uint64_t> owner_of(std::uint64_t link) const {
    for (std::uint64_t i = 0; i < helpers_.size(); ++i)
      if (helpers_[i].link == link)
        return i;
    return std::nullopt;
  }

  void join(std::uint64_t i) {
    auto& x = helpers_[i];
    if (x.link != 0)
      return;
    x.link = ++num_links_;
    const auto link = x.link;
    const auto window = static_cast<std::int64_t>(200 + draw(4000));
    after(latency(), [this, i, link, window] {
      if (helpers_[i].link != link)
        return;
      windows_[link] = window;
      lender_.join(link, window, helpers_[i].cores, now_);
    });
    beat(i, link);
  }

  void beat(std::uint64_t i, std::uint64_t link) {
    after(500 * ms, [this, i, link] {
      in_helper(i, link, [this, i, link] {
        lender_.heard(link, now_);
        beat(i, link);
      });
    });
  }

  /// The helper's end of a link.
  void vanish(std::uint64_t i, std::uint64_t link) {
    auto& x = helpers_[i];
    if (x.link != link)
      return;
    x.link = 0;
    x.hangs = false;
    x.queue.drop(link);
    after(static_cast<std::int64_t>(draw(3000)) * ms, [this, i] { join(i); });
  }

  void work(std::uint64_t i) {
    auto& x = helpers_[i];
    while (x.busy < x.cores && !x.hangs) {
      const auto task = x.queue.take();
      if (!task)
        return;
      ++x.busy;
      const auto rows = decode_offer({task->bytes->data(), task->bytes->size()});
      REQUIRE(rows);
      const auto factor = x.speed * (x.slow_until > now_ ? 30 : 1);
      after(static_cast<std::int64_t>(rows->size() * (1 + draw(10)) * factor) * ms,
            [this, i, task] {
              --helpers_[i].busy;
              in_helper(i, task->link, [this, i, task] { answer(i, *task); });
              work(i);
            });
    }
  }

  /// Whether one of the rows ends the helper that makes it.
  bool is_deadly(const std::vector<offered_row>& rows) {
    for (const auto& row : rows) {
      const auto request = decode_request(row.request, *plan_);
      if (how_.one_is_deadly == 0 || !request || request->position % how_.one_is_deadly != 0)
        continue;
      ++deaths_[{request->epoch, request->position}];
      return true;
    }
    return false;
  }

  void answer(std::uint64_t i, const helper_queue::task& task) {
    auto& x = helpers_[i];
    if (!x.queue.is_wanted(task))
      return answer_none(task);
    x.queue.done(task);
    const auto rows = *decode_offer({task.bytes->data(), task.bytes->size()});
    if (is_deadly(rows)) {
      in_lender([this, link = task.link] { lender_.lost(link); });
      return vanish(i, task.link);
    }
    std::vector<std::string> results;
    std::vector<answered_row> answers;
    for (const auto& row : rows) {
      const auto request = decode_request(row.request, *plan_);
      if (!request) { // it was left out
        results.emplace_back();
        continue;
      }
      row_result result;
      row_places places;
      far_->memory().begin_rows();
      maker_.run(*request, places.at(far_->memory(), 0), result);
      results.push_back(encode(result, *plan_->layout,
                               [&](std::size_t field) { return far_->memory().row_of(field, 0); }));
    }
    for (std::size_t k = 0; k < rows.size(); ++k)
      answers.push_back({k, i >= how_.unable && draw(50) != 0 && !results[k].empty(),
                         1000 + draw(10'000'000), results[k]});
    const auto bytes = encode(answers);
    const auto come = [this, link = task.link, offer = task.offer, bytes] {
      receive(link, offer, bytes);
    };
    after(latency(), come);
    if (draw(10) == 0) // said twice
      after(latency() + 100 * ms, come);
  }

  // -- faults
  void break_something() {
    const auto i = draw(helpers_.size());
    auto& x = helpers_[i];
    switch (how_.kinds[draw(how_.kinds.size())]) {
    case fault::killed:
      if (x.link == 0)
        return;
      in_lender([this, link = x.link] { lender_.lost(link); });
      return vanish(i, x.link);
    case fault::unseen: {
      const auto link = x.link;
      if (link == 0)
        return;
      x.link = 0;
      x.queue.drop(link);
      return after(static_cast<std::int64_t>(draw(20'000)) * ms, [this, i] { join(i); });
    }
    case fault::stopped:
      x.stopped_until = now_ + static_cast<std::int64_t>(draw(15'000)) * ms;
      return;
    case fault::slow:
      x.slow_until = now_ + static_cast<std::int64_t>(draw(5'000)) * ms;
      return;
    case fault::hung:
      x.hangs = x.link != 0;
      return;
    case fault::consumer_stops:
      consumer_stops_until_ = now_ + static_cast<std::int64_t>(draw(5'000)) * ms;
      at(consumer_stops_until_, [this] { hand_over(); });
    }
  }

  std::mt19937_64 chance_;
  wish how_;
  std::shared_ptr<job_plan> plan_;
  lender_settings settings_;
  lender_state lender_;
  std::unique_ptr<batch_order> order_;
  row_runner maker_;
  std::unique_ptr<batch_slot> far_;
  std::int64_t now_ = 0;
  std::multimap<std::int64_t, std::function<void()>> events_;
  planned_batch next_;
  std::vector<std::shared_ptr<batch_slot>> slots_;
  std::deque<std::shared_ptr<batch_slot>> open_;
  std::deque<row_place> for_here_;
  std::uint64_t local_ = 1;
  std::uint64_t busy_ = 0;
  std::uint64_t made_here_ = 0;
  std::uint64_t cancelled_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> deaths_;
  std::int64_t consumer_stops_until_ = 0;
  bool is_ended_ = false;
  bool is_over_ = false;
  std::vector<finished_batch> made_;
  std::vector<helper> helpers_;
  bool is_sending_ = false;
  std::vector<std::function<void()>> waits_for_lender_;
  std::uint64_t num_links_ = 0;
  std::map<std::uint64_t, std::int64_t> windows_;
};

} // namespace leat::test

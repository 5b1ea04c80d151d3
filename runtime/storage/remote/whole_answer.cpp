#include "runtime/storage/remote/whole_answer.hpp"

#include "runtime/storage/remote/range_fetch.hpp"

#include <future>
#include <stop_token>
#include <utility>

namespace leat {

whole_answer ask_whole(range_fetcher& by, std::shared_ptr<remote_object> asked, std::size_t most) {
  whole_answer answer;
  // Shared: the caller may be awake before the thread that wakes it is done with it.
  const auto end = std::make_shared<std::promise<std::shared_ptr<const error>>>();
  auto result = end->get_future();
  const auto fetch =
      std::make_shared<range_fetch>(std::move(asked), answer.body, most,
                                    [end](read_result x) { end->set_value(std::move(x.failure)); });
  by.begin(fetch, std::stop_token{});
  if (const auto failure = result.get())
    throw error(*failure);
  answer.next = fetch->next_page;
  return answer;
}

} // namespace leat

#include "runtime/lending/worker_settings.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/job/core_budget.hpp"
#include "runtime/network/address.hpp"

#include <leat/notice.hpp>

#include <sys/resource.h>

namespace leat {

worker_settings checked(worker_settings x) {
  (void)parse_address(x.join, "worker.join");
  if (x.nice < 0 || x.nice > 19)
    refuse_argument("worker.nice", std::to_string(x.nice), "0 to 19");
  if (x.memory > 0 && x.memory < std::uint64_t{64} << 20)
    refuse_argument("worker.memory", std::to_string(x.memory) + " bytes", "at least 64 MiB");
  for (const auto& folder : x.data)
    if (folder.empty() || folder.front() != '/')
      refuse_argument("worker.data", '"' + folder + '"', "the absolute path of a folder");
  if (!x.log)
    x.log = [](const std::string& text) { notice("worker: " + text); };
  if (x.cores == 0)
    x.cores = usable_cores();
  return x;
}

void give_way(const worker_settings& x) {
  if (x.nice > 0)
    (void)::setpriority(PRIO_PROCESS, 0, x.nice); // threads that begin later do the same
  if (x.memory == 0)
    return;
  const rlimit limit{x.memory, x.memory};
  (void)::setrlimit(RLIMIT_DATA, &limit);
}

} // namespace leat

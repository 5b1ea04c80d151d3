#pragma once

#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/range_fetcher.hpp"
#include "runtime/storage/remote/remote_object.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leat {

/// Objects of servers, to be read by ranges; what is expected is read ahead.
std::shared_ptr<stored_objects>
open_remote_objects(std::vector<std::shared_ptr<remote_object>> objects,
                    std::shared_ptr<range_fetcher> by);

/// Makes an object of its name, for errors of this stage.
using remote_object_maker = std::function<std::shared_ptr<remote_object>(const std::string& name,
                                                                         const std::string& stage)>;

/// Objects of which each is read now and then as a whole; see object_store::open.
std::shared_ptr<stored_objects> open_listed_objects(std::shared_ptr<const object_names> names,
                                                    std::string stage, remote_object_maker make,
                                                    std::shared_ptr<range_fetcher> by);

} // namespace leat

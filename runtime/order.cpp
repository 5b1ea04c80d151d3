#include "runtime/order.hpp"

// The former name of xxl/array.h.
#pragma once

#include "xxl/array.h"

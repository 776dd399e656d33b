#include "xxl/stxxl.h"  // for programs with the include lines of STXXL

// std::less, std::greater, and the categories and sentinels of iterators. The rest of <functional>
// and <iterator> would be half of <xxl/sorter.h>.
#pragma once

#if __has_include(<bits/stl_function.h>) && __has_include(<bits/stl_iterator.h>)  // libstdc++
#include <bits/stl_function.h>
#include <bits/stl_iterator.h>
#else
#include <functional>
#include <iterator>
#endif

// Means, rounded as the program rounds them.
#pragma once

namespace xxl::campaign {

// a / b for b > 0, rounded to the nearest number, and halves to the even one.
inline __int128 rounded_quotient(__int128 a, __int128 b) {
  const int sign = a < 0 ? -1 : 1;
  const __int128 quotient = a / b;
  const __int128 twice_left = sign * 2 * (a % b);
  return twice_left > b || (twice_left == b && quotient % 2 != 0) ? quotient + sign : quotient;
}

}  // namespace xxl::campaign

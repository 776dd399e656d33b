// STXXL's macros for messages and checks.
#pragma once

#include <cassert>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

namespace stxxl {

namespace detail {

// One write, so that messages of several threads do not mix.
inline void print_message(std::ostream& out, const char* label, const std::string& text) {
  out << '[' + std::string(label) + "] " + text + '\n' << std::flush;
}

template <class... Args>
void ignore(const Args&...) {}

}  // namespace detail

}  // namespace stxxl

#define XXL_STXXL_PRINT(out, label, message)                    \
  do {                                                          \
    std::ostringstream xxl_text;                                \
    xxl_text << message;                                        \
    ::stxxl::detail::print_message(out, label, xxl_text.str()); \
  } while (false)
#define XXL_STXXL_FAIL(label, message)          \
  do {                                          \
    XXL_STXXL_PRINT(std::cerr, label, message); \
    std::abort();                               \
  } while (false)

#define STXXL_MSG(message) XXL_STXXL_PRINT(std::cout, "STXXL-MSG", message)
#define STXXL_ERRMSG(message) XXL_STXXL_PRINT(std::cerr, "STXXL-ERRMSG", message)

// Verbose messages are compiled, and not printed.
#define STXXL_VERBOSE(message)                  \
  do {                                          \
    if (false) std::ostringstream() << message; \
  } while (false)
#define STXXL_VERBOSE0(message) STXXL_VERBOSE(message)
#define STXXL_VERBOSE1(message) STXXL_VERBOSE(message)
#define STXXL_VERBOSE2(message) STXXL_VERBOSE(message)
#define STXXL_VERBOSE3(message) STXXL_VERBOSE(message)

// Checks end the program; STXXL_ASSERT only without NDEBUG.
#define STXXL_CHECK2(condition, text)                                                   \
  do {                                                                                  \
    if (!(condition))                                                                   \
      XXL_STXXL_FAIL("STXXL-CHECK",                                                     \
                     text << " - " #condition " - FAILED @ " __FILE__ ":" << __LINE__); \
  } while (false)
#define STXXL_CHECK(condition)                                                           \
  do {                                                                                   \
    if (!(condition))                                                                    \
      XXL_STXXL_FAIL("STXXL-CHECK", #condition " - FAILED @ " __FILE__ ":" << __LINE__); \
  } while (false)
#define STXXL_CHECK_THROW(code, exception_type)                                                \
  do {                                                                                         \
    bool xxl_thrown = false;                                                                   \
    try {                                                                                      \
      code;                                                                                    \
    } catch (const exception_type&) {                                                          \
      xxl_thrown = true;                                                                       \
    }                                                                                          \
    if (!xxl_thrown)                                                                           \
      XXL_STXXL_FAIL("STXXL-CHECK-THROW",                                                      \
                     #code " - NO EXCEPTION " #exception_type " @ " __FILE__ ":" << __LINE__); \
  } while (false)
#ifdef NDEBUG
#define STXXL_ASSERT(condition)        \
  do {                                 \
    if (false) STXXL_CHECK(condition); \
  } while (false)
#else
#define STXXL_ASSERT(condition) STXXL_CHECK(condition)
#endif
#define STXXL_STATIC_ASSERT(condition) static_assert(condition, #condition)
#define STXXL_UNUSED(variable) ::stxxl::detail::ignore(variable)
#define STXXL_PRETTY_FUNCTION_NAME __PRETTY_FUNCTION__
#define STXXL_HAVE_CXX11_RANGE_FOR_LOOP 1

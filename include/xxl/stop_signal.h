// A request to stop, from std::stop_source.
//
// This keeps a std::stop_token without <stop_token>, which would be a third of <xxl/sorter.h>.
#pragma once

#include <any>
#include <utility>

namespace xxl {

// Made of a std::stop_token: .stop = source.get_token(). Empty: nothing stops.
class stop_signal {
 public:
  stop_signal() = default;
  // Any other type of token is Error{usage} where the signal is used.
  template <class Token>
  requires requires(const Token& token) {
    token.stop_requested();
    token.stop_possible();
  }
  stop_signal(Token token) : token_(std::move(token)) {}

  // For the library.
  const std::any& token() const { return token_; }

 private:
  std::any token_;
};

}  // namespace xxl

#include "record/json_members.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <new>
#include <utility>

#include "base/memory_name.h"
#include "base/units.h"
#include "record/digits.h"

namespace xxl {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

constexpr std::size_t kMostNested = 1000;
// Room beyond that is given back.
constexpr std::size_t kKeptBytes = 256 * kKiB;

constexpr std::string_view kJsonBlanks = " \t\r\n";

// One per thread: texts are read one at a time.
struct JsonRoom {
  std::string text;  // followed by as many zeros as simdjson may read
  ondemand::parser parser;
};

std::string_view without_blanks_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kJsonBlanks) + 1);
}

// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_json_number(std::string_view text) {
  const auto skip_digits = [&text] {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    const auto count = static_cast<std::size_t>(end - text.begin());
    text.remove_prefix(count);
    return count > 0;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('0')) {
    text.remove_prefix(1);
  } else if (!skip_digits()) {
    return false;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!skip_digits()) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!skip_digits()) return false;
  }
  return text.empty();
}

std::string json_fault(error_code error) {
  switch (error) {
    case simdjson::UTF8_ERROR:
      return "not JSON: it is not UTF-8";
    case simdjson::UNESCAPED_CHARS:
      return "not JSON: a control character in a string";
    case simdjson::UNCLOSED_STRING:
      return "not JSON: a string is not closed";
    case simdjson::STRING_ERROR:
      return "not JSON: an invalid escape in a string";
    case simdjson::NUMBER_ERROR:
      return "not JSON: a malformed number";
    case simdjson::DEPTH_ERROR:
      return "JSON that is nested deeper than " + std::to_string(kMostNested);
    case simdjson::EMPTY:
    case simdjson::INCORRECT_TYPE:
      return "not an object of JSON";
    case simdjson::MEMALLOC:
      throw std::bad_alloc();
    default:
      return "not JSON: a comma, colon, bracket or value is missing or misplaced";
  }
}

}  // namespace

const JsonMembers::Step* JsonMembers::Step::find(std::string_view key) const {
  const auto step = std::ranges::find(next, key, &Step::name);
  return step == next.end() ? nullptr : &*step;
}

JsonMembers::JsonMembers(const std::vector<Path>& paths, std::size_t most_bytes)
    : count_(paths.size()), most_bytes_(std::min(most_bytes, kMostBytes)) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Step* step = &root_;
    for (const std::string& name : paths[i]) {
      auto next = std::ranges::find(step->next, name, &Step::name);
      if (next == step->next.end()) next = step->next.insert(next, Step{.name = name});
      step = &*next;
    }
    step->members.push_back(i);
  }
}

// Walks through a text. Functions return simdjson's errors.
class JsonMembers::Reading {
 public:
  Reading(JsonRoom& room, FieldSpan* fields, std::size_t missing, bool checks)
      : room_(room), fields_(fields), missing_(missing), checks_(checks) {}

  error_code read_all(const Step& root) {
    if (const error_code error = room_.parser.iterate(padded()).get(document_)) return error;
    ondemand::object object;
    if (const error_code error = document_.get_object().get(object)) return error;
    if (const error_code error = read_object(object, &root, 1)) return error;
    if (!checks_) return simdjson::SUCCESS;
    const bool at_end = document_.current_location().error() == simdjson::OUT_OF_BOUNDS;
    return at_end ? simdjson::SUCCESS : simdjson::TAPE_ERROR;
  }

 private:
  simdjson::padded_string_view padded() const {
    const std::size_t bytes = room_.text.size() - simdjson::SIMDJSON_PADDING;
    return simdjson::padded_string_view(room_.text.data(), bytes, room_.text.size());
  }
  // Nothing else is looked for.
  bool is_done() const { return missing_ == 0 && !checks_; }

  error_code read_object(ondemand::object& object, const Step* step, std::size_t depth) {
    for (auto item : object) {
      ondemand::field field;
      if (const error_code error = std::move(item).get(field)) return error;
      std::string_view name;
      if (const auto plain = plain_string(field.key().raw())) {
        name = *plain;
      } else if (const error_code error = field.unescaped_key().get(name)) {
        return error;
      }
      const Step* const next = step == nullptr ? nullptr : step->find(name);
      if (const error_code error = read_value(field.value(), next, depth)) return error;
      if (is_done()) break;
    }
    return simdjson::SUCCESS;
  }

  error_code read_array(ondemand::array& array, const Step* step, std::size_t depth) {
    std::size_t index = 0;
    for (auto item : array) {
      ondemand::value value;
      if (const error_code error = std::move(item).get(value)) return error;
      const Step* next = nullptr;
      if (step != nullptr && !step->next.empty()) {
        std::array<char, 20> digits;
        const auto end = std::to_chars(digits.begin(), digits.end(), index).ptr;
        next = step->find({digits.data(), static_cast<std::size_t>(end - digits.data())});
      }
      if (const error_code error = read_value(value, next, depth)) return error;
      if (is_done()) break;
      ++index;
    }
    return simdjson::SUCCESS;
  }

  error_code read_value(ondemand::value value, const Step* step, std::size_t depth) {
    if (step == nullptr && !checks_) return simdjson::SUCCESS;  // simdjson passes over it
    ondemand::json_type type;
    if (const error_code error = value.type().get(type)) return error;
    switch (type) {
      case ondemand::json_type::object:
      case ondemand::json_type::array:
        return read_nested(value, type, step, depth);
      case ondemand::json_type::string: {
        std::string_view text;
        if (const auto plain = plain_string(value.raw_json_token().data() + 1)) {
          text = *plain;
          if (const error_code error = value.get_raw_json_string().error()) return error;
        } else if (const error_code error = value.get_string().get(text)) {
          return error;
        }
        set(step, {.content = text, .quoted = true});
        return simdjson::SUCCESS;
      }
      case ondemand::json_type::number: {
        const std::string_view text = without_blanks_behind(value.raw_json_token());
        if (!is_json_number(text)) return simdjson::NUMBER_ERROR;
        set(step, {.content = text});
        return simdjson::SUCCESS;
      }
      case ondemand::json_type::boolean: {
        bool truth = false;
        if (value.get_bool().get(truth)) return simdjson::TAPE_ERROR;
        set(step, {.content = truth ? "true" : "false"});
        return simdjson::SUCCESS;
      }
      case ondemand::json_type::null:
        break;
    }
    bool is_null = false;
    if (value.is_null().get(is_null) || !is_null) return simdjson::TAPE_ERROR;
    set(step, {.content = ""});
    return simdjson::SUCCESS;
  }

  error_code read_nested(ondemand::value& value, ondemand::json_type type, const Step* step,
                         std::size_t depth) {
    if (depth == kMostNested) return simdjson::DEPTH_ERROR;
    const char* const begin = value.raw_json_token().data();
    if (type == ondemand::json_type::object) {
      ondemand::object object;
      if (const error_code error = value.get_object().get(object)) return error;
      if (const error_code error = read_object(object, step, depth + 1)) return error;
    } else {
      ondemand::array array;
      if (const error_code error = value.get_array().get(array)) return error;
      if (const error_code error = read_array(array, step, depth + 1)) return error;
    }
    if (step == nullptr || step->members.empty()) return simdjson::SUCCESS;
    const char* end = nullptr;  // what comes next
    if (document_.current_location().get(end)) return simdjson::TAPE_ERROR;
    set(step, {.content = without_blanks_behind({begin, static_cast<std::size_t>(end - begin)})});
    return simdjson::SUCCESS;
  }

  // The string that starts at `begin`, if it has no escapes: then nothing is left to be checked.
  static std::optional<std::string_view> plain_string(const char* begin) {
    const char* end = begin;
    while (*end != '"' && *end != '\\') ++end;
    if (*end == '\\') return {};
    return std::string_view(begin, static_cast<std::size_t>(end - begin));
  }

  void set(const Step* step, const FieldSpan& field) {
    if (step == nullptr) return;
    for (const std::size_t member : step->members) {
      if (fields_[member].content.data() != nullptr) continue;
      fields_[member] = field;
      --missing_;
    }
  }

  JsonRoom& room_;
  ondemand::document document_;
  FieldSpan* const fields_;
  std::size_t missing_;
  const bool checks_;
};

std::optional<std::string> JsonMembers::read(std::string_view text, FieldSpan* fields,
                                             bool checks) const {
  std::fill_n(fields, count_, FieldSpan{});
  if (text.size() > most_bytes_) {
    return "the line has " + format_bytes(text.size()) + ", more than the " +
           format_bytes(most_bytes_) + " of a line of JSON, a part of " + memory_name() +
           ": give more";
  }
  thread_local JsonRoom room;
  if (room.text.capacity() > 2 * kKeptBytes && text.size() <= kKeptBytes) room = JsonRoom();
  room.text.assign(text);
  room.text.append(simdjson::SIMDJSON_PADDING, '\0');
  if (room.parser.capacity() < text.size() &&
      room.parser.allocate(std::bit_ceil(text.size())) != simdjson::SUCCESS) {
    throw std::bad_alloc();
  }
  const error_code error = Reading(room, fields, count_, checks).read_all(root_);
  if (error == simdjson::SUCCESS) return {};
  return json_fault(error);
}

void append_json_string(std::string_view value, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out.push_back('"');
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (byte < 0x20) {
      const std::size_t at = std::string_view("\b\t\n\f\r").find(c);
      if (at != std::string_view::npos) {
        out.push_back('\\');
        out.push_back("btnfr"[at]);
      } else {
        out.append("\\u00");
        out.push_back(kHex[byte >> 4]);
        out.push_back(kHex[byte & 15]);
      }
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

}  // namespace xxl

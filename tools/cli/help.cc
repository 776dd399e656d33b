#include "cli/help.h"

#include <sstream>

#include "base/error.h"
#include "base/similar.h"
#include "cli/help_parts.h"
#include "cli/option_scope.h"

namespace xxl::cli {
namespace {

using Options = std::vector<OptionSpec>;

constexpr std::size_t kHelpColumn = 30;  // where the explanation of an option starts
constexpr std::size_t kLineWidth = 80;

constexpr std::string_view kProgramExamples =
    "  xxl sort --csv --key=price:number:desc goods.csv -o sorted.csv\n"
    "  xxl group --csv --by=shop --sum=price --count sales.csv\n"
    "  xxl join --csv --on=id users.csv orders.csv -o both.csv\n"
    "  xxl uniq --keep-order urls.txt -o once.txt\n";

// Appends `text` at column `column`, broken at blanks; lines after the first start at `indent`.
void append_wrapped(std::string& out, std::string_view text, std::size_t column,
                    std::size_t indent) {
  std::istringstream words{std::string(text)};
  std::string word;
  bool first = true;
  while (words >> word) {
    if (!first && column + 1 + word.size() > kLineWidth) {
      out.append("\n").append(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) out.push_back(' ');
    column += word.size() + (first ? 0 : 1);
    out.append(word);
    first = false;
  }
  out.push_back('\n');
}

// Long names of options without a short one are aligned with those that have one.
std::string left_of(const OptionSpec& option) {
  return (option.short_name != 0 ? "  " : "      ") + synopsis(option, "-");
}

void append_option(std::string& out, const OptionSpec& option, std::string_view help,
                   std::size_t column = kHelpColumn) {
  const std::string left = left_of(option);
  if (left.size() + 2 > column) {
    out.append(left).append("\n").append(column, ' ');
  } else {
    out.append(left).append(column - left.size(), ' ');
  }
  append_wrapped(out, help, column, column);
}

void append_text(std::string& out, std::string_view text) {
  for_each_part(
      text, [&](const std::string& line) { append_wrapped(out, line, 0, 0); },
      [&](const std::string& line) { out.append(line).append("\n"); });
}

void append_section(std::string& out, const Section& section) {
  out.append("\n").append(section.title).append("\n");
  append_text(out, section.text);
}

void append_groups(std::string& out, const Options& options) {
  for_each_group(
      options, [&](std::string_view title) { out.append("\n").append(title).append(":\n"); },
      [&](const OptionSpec& option) { append_option(out, option, option.help); });
}

void append_usage(std::string& out, const CommandSpec& command, std::string_view called_as) {
  out.append("Usage: ").append(called_as).append(" [OPTION]...");
  if (!command.operands.empty()) out.append(" ").append(command.operands);
  out.append("\n");
}

std::string called(const CommandSpec& command) {
  return std::string(command.program) + " " + std::string(command.name);
}

// The options that are explained, in the order of the table.
Options explained(const CommandSpec& command) {
  Options options(command.options.begin(), command.options.end());
  std::erase_if(options, [](const OptionSpec& option) { return option.help.empty(); });
  return options;
}

// Those of every day, in the order in which the command names them.
Options everyday(const CommandSpec& command) {
  Options found;
  std::istringstream keys{std::string(command.everyday)};
  for (std::string key; keys >> key;) {
    const auto option = std::ranges::find(command.options, key, &OptionSpec::key);
    if (option != command.options.end() && !option->help.empty()) found.push_back(*option);
  }
  return found;
}

bool is_one_of(const OptionSpec& option, const Options& options) {
  return std::ranges::any_of(options,
                             [&](const OptionSpec& other) { return other.key() == option.key(); });
}

std::string first_name(const HelpTopic& topic) {
  return std::string(topic.names.substr(0, topic.names.find(' ')));
}

// The option that the command calls `name`, or nullptr. `is_typed`: as an option, with dashes.
const OptionSpec* find_option(const CommandSpec& command, std::string_view name, bool is_typed) {
  if (name.empty()) return nullptr;
  for (const OptionSpec& option : command.options) {
    const bool is_short = name.size() == 1 && option.short_name == name[0];
    if (!option.help.empty() && (is_short || option.long_name == name)) return &option;
  }
  for (const OtherName& other : other_names()) {
    if (other.name != name || !(is_typed || other.value.empty())) continue;
    const OptionSpec* const option = option_of(command, other);
    if (option != nullptr && accepts(*option, other)) return option;
  }
  return nullptr;
}

constexpr std::string_view kJsonTopic = "jsonl";

// Whether the command has something on the topic.
bool has_topic(const CommandSpec& command, const HelpTopic& topic) {
  if (first_name(topic) == kJsonTopic) return find_option(command, kJsonTopic, true) != nullptr;
  if (topic.records != Scope::all) return overlap(command.records, topic.records);
  const auto is_here = [&](const auto& part) { return is_in(topic, part); };
  return std::ranges::any_of(explained(command), is_here) ||
         std::ranges::any_of(command.sections, is_here);
}

std::vector<std::string> topics_of(const CommandSpec& command) {
  std::vector<std::string> names;
  for (const HelpTopic& topic : help_topics()) {
    if (has_topic(command, topic)) names.push_back(first_name(topic));
  }
  return names;
}

std::string topic_list(const CommandSpec& command) {
  std::string list;
  for (const std::string& name : topics_of(command)) list.append(name).append(" ");
  return list + "all";
}

// As much of the help of an option as fits in a line, if it can be cut.
std::string_view one_line(std::string_view help, std::size_t width) {
  for (const std::string_view end : {";", " ("}) {
    if (help.size() > width) help = help.substr(0, help.find(end));
  }
  return help;
}

void append_option_details(std::string& out, const OptionSpec& option) {
  append_option(out, option, option.help);
  const std::string details = details_of(option);
  if (details.empty()) return;
  out.append("\n");
  append_text(out, details);
}

}  // namespace

std::string short_help() {
  std::string out("xxl sorts, joins, groups and shuffles files that are larger than memory.\n\n");
  out.append(kProgramExamples).append("\n");
  for (const CommandSpec& command : commands()) {
    if (command.name == "help") continue;
    const std::string left = "  " + std::string(command.name);
    out.append(left).append(13 - left.size(), ' ').append(command.summary).append("\n");
  }
  return out + "xxl COMMAND -h shows examples, xxl help COMMAND all options, xxl --version.\n";
}

std::string short_help(const CommandSpec& command) {
  std::string out;
  append_usage(out, command, called(command));
  append_wrapped(out, std::string(command.summary) + ".", 0, 0);
  out[out.find('\n') + 1] = static_cast<char>(std::toupper(out[out.find('\n') + 1]));
  if (!command.examples.empty()) out.append("\n").append(command.examples);
  const Options options = command.everyday.empty() ? explained(command) : everyday(command);
  std::size_t column = 0;
  for (const OptionSpec& option : options) column = std::max(column, left_of(option).size() + 2);
  out.append("\n");
  for (const OptionSpec& option : options) {
    append_option(out, option, one_line(option.help, kLineWidth - column), column);
  }
  if (command.everyday.empty()) return out;
  out.append("\n");
  append_wrapped(out, "xxl help " + std::string(command.name) + ": all options", 0, 0);
  return out;
}

std::string long_help(const CommandSpec& command, std::string_view called_as, bool with_topics) {
  std::string out;
  append_usage(out, command, called_as);
  out.append("\n");
  append_text(out, command.description);
  if (!command.examples.empty()) out.append("\nExamples:\n").append(command.examples);
  const Options first = everyday(command);
  if (!first.empty()) out.append("\nEveryday options:\n");
  for (const OptionSpec& option : first) append_option(out, option, option.help);
  Options others = explained(command);
  std::erase_if(others, [&](const OptionSpec& option) { return is_one_of(option, first); });
  append_groups(out, others);
  with_topics |= called_as != "xxl " + std::string(command.name) || first.empty();
  for (const Section& section : command.sections) {
    const bool is_on_topic = section.scope != Scope::all || !section.group.empty();
    if (section.group != kOnlyInManual && (with_topics || !is_on_topic)) {
      append_section(out, section);
    }
  }
  if (with_topics) return out;
  out.append("\nTopics, as in xxl help ").append(command.name).append(" keys:\n");
  append_wrapped(out.append("  "), topic_list(command), 2, 2);
  append_wrapped(out, "xxl help " + std::string(command.name) + " OPTION explains an option.", 0,
                 0);
  return out;
}

std::string topic_help(const CommandSpec& command, std::string_view name) {
  if (name == "all") return long_help(command, called(command), true);
  std::string out;
  const Options first = everyday(command);
  const bool is_typed = name.starts_with('-');
  if (is_typed) name = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  for (const HelpTopic& topic : help_topics()) {
    if (is_typed || !has_word(topic.names, name) || !has_topic(command, topic)) continue;
    append_wrapped(out, called(command) + ": " + std::string(topic.title), 0, 0);
    out.append("\n");
    append_text(out, topic.intro);
    Options options = explained(command);
    const bool is_group = topic.records == Scope::all;
    const bool is_json = first_name(topic) == kJsonTopic;
    std::erase_if(options, [&](const OptionSpec& option) {
      const bool is_everyday =
          !is_group && overlap(option.scope, topic.records) && is_one_of(option, first);
      return (!is_in(topic, option) && !is_everyday) || (is_json && is_of_fields(option));
    });
    append_groups(out, options);
    for (const Section& section : command.sections) {
      if (is_in(topic, section)) append_section(out, section);
    }
    return out;
  }
  if (const OptionSpec* option = find_option(command, name, is_typed); option != nullptr) {
    append_option_details(out, *option);
    return out;
  }
  const std::vector<std::string> topics = topics_of(command);
  std::vector<std::string_view> names(topics.begin(), topics.end());
  for (const OptionSpec& option : command.options) names.push_back(option.long_name);
  const std::string meant = did_you_mean(name, names);
  throw Error(ErrorCode::usage,
              "no topic or option '" + std::string(name) + "' of " + called(command) +
                  (meant.empty() ? ": topics are " : meant + " Topics are ") + topic_list(command));
}

}  // namespace xxl::cli

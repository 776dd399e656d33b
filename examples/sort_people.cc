// Sorts records of any length, by what a format says, from one file into another.
#include <xxl/file.h>
#include <xxl/sorter.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

struct Person {
  std::string name;
  std::int32_t born = 0;
};

// The youngest first, those of one year by name.
struct ByAge {
  void append_key(const Person& person, std::string& to) const {
    xxl::append_key_descending(person.born, to);
    xxl::append_key(person.name, to);
  }
  void append_record(const Person& person, std::string& to) const {
    to.append(reinterpret_cast<const char*>(&person.born), sizeof(person.born));
    to += person.name;
  }
  Person record(std::string_view bytes) const {
    Person person;
    std::memcpy(&person.born, bytes.data(), sizeof(person.born));
    person.name = bytes.substr(sizeof(person.born));
    return person;
  }
};

int main() {
  xxl::file_writer<std::int32_t> years("years.bin");
  for (std::int32_t i = 0; i < 500'000; ++i) years.push(1900 + i * 7 % 120);
  years.close();

  xxl::sorter people(ByAge(), {.memory_bytes = 16 << 20});
  std::uint64_t number = 0;
  for (const std::int32_t year : xxl::file_reader<std::int32_t>("years.bin")) {
    people.push({"name " + std::to_string(++number * 7919 % 1000), year});
  }
  std::remove("years.bin");

  Person last{"", 3000};
  for (const Person& person : people) {
    if (person.born > last.born || (person.born == last.born && person.name < last.name)) return 1;
    last = person;
  }
  std::printf("%llu people, the oldest is %s, %d\n", static_cast<unsigned long long>(number),
              last.name.c_str(), last.born);
  return last.born == 1900 ? 0 : 1;
}

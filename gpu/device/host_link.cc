#include "gpu/device/host_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl::gpu {
namespace {

// Of a link and direction, for pinned memory: one copies while the other's end is handled.
constexpr std::size_t kCopiers = 2;
// The most for other memory: what one processor copies is a fifth of what a link does.
constexpr std::size_t kMostStagingCopiers = 8;
constexpr std::size_t kBlockBytes = std::size_t{2} << 20;   // staged at once; there are two
constexpr std::size_t kPassedBytes = std::size_t{8} << 20;  // by an idle peer at once
// Of a copy that is divided.
constexpr std::size_t kLeastPart = kBlockBytes;
constexpr std::size_t kMostPart = 2 * kPassedBytes;
constexpr std::size_t kPartsOfCopier = 2;  // under way

static_assert(HostLink::kPeerBytes >=
              2 * (kCopiers * kPassedBytes + (kMostStagingCopiers - kCopiers) * kBlockBytes));

}  // namespace

struct HostLink::Copy {
  std::byte* device;
  const std::byte* from;  // host memory, of copies in
  std::byte* to;          // likewise, of copies out
  std::size_t bytes;

  const std::byte* host() const { return from != nullptr ? from : to; }
  Copy part(std::size_t first, std::size_t most) const {
    const std::size_t count = std::min(most, bytes - first);
    return {device + first, from == nullptr ? nullptr : from + first,
            to == nullptr ? nullptr : to + first, count};
  }
};

struct HostLink::WaitingCopy {
  Copy copy;
  bool staged;
  std::function<void()> done;
};

// A thread, with the stream of the device whose link it uses. Blocks are pinned when they are first
// needed. All its memory is used by its thread alone.
class HostLink::Copier {
 public:
  // `passed_bytes` go at once through the memory of a peer; 0 if it is the device itself.
  Copier(Device& link, std::size_t passed_bytes, Mailbox& mailbox, std::string name,
         TimeLine* time_line)
      : link_(link),
        passed_bytes_(passed_bytes),
        passed_(passed_bytes == 0 ? DeviceMemory() : DeviceMemory(link, passed_bytes)),
        thread_(link.make_stream(), mailbox, std::move(name), time_line) {}

  double busy_seconds() const { return thread_.busy_seconds(); }

  std::size_t under_way = 0;  // parts; the coordinator's

  void run(const char* what, const Copy& copy, bool staged, std::function<void()> done) {
    thread_.run(
        what,
        [this, copy, staged](Stream& stream) {
          if (!staged || !make_blocks()) {
            start(stream, copy);
          } else {
            copy.from != nullptr ? stage_in(stream, copy) : stage_out(stream, copy);
          }
        },
        std::move(done));
  }

 private:
  bool passes_on() const { return passed_bytes_ > 0; }

  // False if no memory can be pinned: then the driver copies.
  bool make_blocks() {
    try {
      if (staging_.data() == nullptr) staging_ = SharedMemory(link_, 2 * kBlockBytes);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_space) throw;
      return false;
    }
  }

  // Between the host's memory and the device.
  void start(Stream& stream, const Copy& copy) const {
    const std::size_t step = passes_on() ? passed_bytes_ : copy.bytes;
    for (std::size_t first = 0; first < copy.bytes; first += step) {
      const Copy part = copy.part(first, step);
      if (part.from != nullptr) {
        stream.copy_in(passes_on() ? passed_.data() : part.device, part.from, part.bytes);
        if (passes_on()) stream.copy(part.device, passed_.data(), part.bytes);
      } else {
        if (passes_on()) stream.copy(passed_.data(), part.device, part.bytes);
        stream.copy_out(part.to, passes_on() ? passed_.data() : part.device, part.bytes);
      }
    }
  }

  std::byte* block(std::size_t number) const { return staging_.data() + number % 2 * kBlockBytes; }

  // One block is filled while the device reads the other.
  void stage_in(Stream& stream, const Copy& copy) const {
    std::size_t number = 0;
    for (std::size_t first = 0; first < copy.bytes; first += kBlockBytes, ++number) {
      Copy part = copy.part(first, kBlockBytes);
      std::memcpy(block(number), part.from, part.bytes);
      stream.finish();
      part.from = block(number);
      start(stream, part);
    }
  }

  // One block is emptied while the device fills the other.
  void stage_out(Stream& stream, const Copy& copy) const {
    Copy last{};
    std::size_t number = 0;
    for (std::size_t first = 0; first < copy.bytes; first += kBlockBytes, ++number) {
      const Copy part = copy.part(first, kBlockBytes);
      Copy staged = part;
      staged.to = block(number);
      stream.finish();
      start(stream, staged);
      if (number > 0) std::memcpy(last.to, block(number - 1), last.bytes);
      last = part;
    }
    stream.finish();
    if (number > 0) std::memcpy(last.to, block(number - 1), last.bytes);
  }

  Device& link_;
  const std::size_t passed_bytes_;
  DeviceMemory passed_;
  SharedMemory staging_;
  StreamThread thread_;  // last: uses the others
};

CopyWays share_of(const CopyWays& all, std::size_t device, std::size_t devices) {
  CopyWays ways;
  for (std::size_t i = device; i < all.idle.size(); i += devices) ways.idle.push_back(all.idle[i]);
  ways.threads = std::max(all.threads / static_cast<unsigned>(devices), 1u);
  return ways;
}

HostLink::HostLink(Device& device, const CopyWays& ways, const std::string& name, Mailbox& mailbox,
                   TimeLine* time_line)
    : device_(device),
      links_{&device},
      name_(name),
      mailbox_(mailbox),
      time_line_(time_line),
      staging_copiers_(
          std::clamp<std::size_t>(ways.threads / (1 + ways.idle.size()), 1, kMostStagingCopiers)),
      in_{" copy in", {}, {}, 0},
      out_{" copy out", {}, {}, 0} {
  links_.insert(links_.end(), ways.idle.begin(), ways.idle.end());
  // Memory of peers is taken now. It might be gone later.
  const std::size_t most = ways.idle.empty() ? kCopiers : std::max(kCopiers, staging_copiers_);
  for (Direction* direction : {&in_, &out_}) copier(*direction, most * links_.size() - 1);
}

HostLink::~HostLink() = default;

void HostLink::end_threads() {
  in_.copiers.clear();
  out_.copiers.clear();
}

double HostLink::Direction::busy_seconds() const {
  double seconds = 0;
  for (const auto& copier : copiers) seconds += copier->busy_seconds();
  return seconds;
}

std::size_t HostLink::copiers_for(bool staged) const {
  return staged ? staging_copiers_ : kCopiers;
}

// They are made in the order of their numbers.
HostLink::Copier& HostLink::copier(Direction& direction, std::size_t number) {
  while (direction.copiers.size() <= number) {
    const std::size_t made = direction.copiers.size();
    const std::size_t link = made % links_.size();
    const bool stages_only = made >= kCopiers * links_.size();
    const std::size_t passed = link == 0 ? 0 : stages_only ? kBlockBytes : kPassedBytes;
    direction.copiers.push_back(std::make_unique<Copier>(*links_[link], passed, mailbox_,
                                                         name_ + direction.what, time_line_));
  }
  return *direction.copiers[number];
}

void HostLink::copy_in(std::byte* device, const std::byte* host, std::size_t bytes,
                       std::function<void()> done) {
  copy(in_, {device, host, nullptr, bytes}, std::move(done));
}

void HostLink::copy_out(std::byte* host, const std::byte* device, std::size_t bytes,
                        std::function<void()> done) {
  // Only read: a copy has one place on the device, whichever way it goes.
  copy(out_, {const_cast<std::byte*>(device), nullptr, host, bytes}, std::move(done));
}

// Through one link whole copies of pinned memory go, by turns of its threads. Through several
// links, and through blocks, each copy goes in parts.
void HostLink::copy(Direction& direction, const Copy& all, std::function<void()> done) {
  const bool staged = !device_.is_pinned({all.host(), all.bytes});
  if (!staged && links_.size() == 1) {
    run(direction, copier(direction, direction.next++ % kCopiers), {all, staged, std::move(done)});
    return;
  }
  const std::size_t copiers = links_.size() * copiers_for(staged);
  try {
    copier(direction, copiers - 1);
  } catch (const Error&) {  // the system refuses a thread: those that are there will do
  }
  const std::size_t step = round_up(
      std::clamp<std::size_t>(ceil_div(all.bytes, copiers), kLeastPart, kMostPart), kAreaAlignment);
  const auto left = std::make_shared<std::size_t>(0);
  const auto shared_done = std::make_shared<std::function<void()>>(std::move(done));
  for (std::size_t first = 0; first < all.bytes || *left == 0; first += step) {
    ++*left;
    direction.waiting.push_back({all.part(first, step), staged, [left, shared_done] {
                                   if (--*left == 0) (*shared_done)();
                                 }});
  }
  start_waiting(direction);
}

// To the copiers that have least to do.
void HostLink::start_waiting(Direction& direction) {
  for (std::size_t busy = 0; busy < kPartsOfCopier; ++busy) {
    for (std::size_t number = 0; number < direction.copiers.size(); ++number) {
      if (direction.waiting.empty()) return;
      Copier& copier = *direction.copiers[number];
      const bool staged = direction.waiting.front().staged;
      if (copier.under_way != busy || number >= links_.size() * copiers_for(staged)) continue;
      WaitingCopy part = std::move(direction.waiting.front());
      direction.waiting.pop_front();
      run(direction, copier, std::move(part));
    }
  }
}

void HostLink::run(Direction& direction, Copier& copier, WaitingCopy part) {
  ++copier.under_way;
  copier.run(direction.what + 1, part.copy, part.staged,
             [this, &direction, &copier, done = std::move(part.done)] {
               --copier.under_way;
               start_waiting(direction);
               done();
             });
}

}  // namespace xxl::gpu

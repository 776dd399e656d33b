#include "mpi/mpi_peers.h"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <exception>
#include <numeric>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/quote.h"
#include "io/temp_name.h"

namespace xxl {
namespace {

using Clock = std::chrono::steady_clock;

// Of messages beside those of exchanges; those of blocks follow. (MPI has tags up to 32767 at
// least.)
constexpr int kRequestTag = 1;
constexpr int kFailureTag = 2;
constexpr int kFirstBlockTag = 16;
// Blocks that are on their way to a rank: enough for any network, and as many tags.
constexpr std::size_t kMostFetches = 1024;

// Of the line of a failure; of a longer one, its start.
constexpr std::size_t kMostFailureBytes = 8192;

constexpr int kErrorStatus = 2;
// A rank that has failed waits so long for rank 0 to end all.
constexpr std::chrono::seconds kFailurePatience{5};

// Launchers pass on what ranks print, and may lose what has not arrived when these are ended.
constexpr std::chrono::milliseconds kForwarding{200};

// How long the thread sleeps while nothing happens: less than a disk takes; while others are waited
// for, up to what a step of all may take longer for it; otherwise up to what nobody notices.
constexpr std::chrono::microseconds kLeastSleep{20};
constexpr std::chrono::microseconds kMostSleepWaiting{200};
constexpr std::chrono::microseconds kMostSleep{5000};

struct BlockRequest {
  BlockName name;
  std::int32_t tag = 0;
};

int count_of(std::size_t bytes) {
  XXL_CHECK(bytes <= INT_MAX);
  return static_cast<int>(bytes);
}

// Those that the calling thread may run on.
cpu_set_t processors_of_thread() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    std::memset(&allowed, ~0, sizeof allowed);
  return allowed;
}

[[noreturn]] void end_all(const std::string& line) {
  io::remove_temp_names();
  std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(nullptr);
  std::this_thread::sleep_for(kForwarding);
  MPI_Abort(MPI_COMM_WORLD, kErrorStatus);
  _exit(kErrorStatus);
}

}  // namespace

// What the thread is at.
class MpiPeers::Loop {
 public:
  explicit Loop(MpiPeers& peers) : peers_(peers) {}

  // Returns when the end is asked for.
  void run();

 private:
  using Action = std::function<void(const MPI_Status&)>;

  bool step();
  void add(MPI_Request request, Action then) {
    requests_.push_back(request);
    actions_.push_back(std::move(then));
  }
  bool test_requests();
  // Beside those that listen, none is under way.
  bool only_listens() const { return requests_.size() == listening_; }
  void start_exchange(Exchange& exchange);
  void exchange_messages(Exchange& exchange);
  void start_fetch(Fetch fetch);
  void listen_for_blocks();
  bool try_serve(int rank, const BlockRequest& request);
  void send(ReadyBlock ready);
  void tell_failure(const std::string& message);
  void listen_for_failures();
  void stop_listening();

  MpiPeers& peers_;
  std::vector<MPI_Request> requests_;  // under way
  std::vector<Action> actions_;        // for each, what follows
  std::size_t listening_ = 0;          // of them, those for what others may send
  std::vector<int> completed_;         // while they are tested
  std::vector<MPI_Status> statuses_;
  std::vector<int> free_tags_ = all_tags();
  BlockRequest asked_;
  std::deque<std::pair<int, BlockRequest>> waiting_;  // for memory of the server
  // Of the exchange.
  std::vector<int> given_counts_, got_counts_, given_places_, got_places_;
  Message given_, got_;
  std::optional<Clock::time_point> failed_;
  std::string failure_;  // of this rank, while it is sent; in rank 0, of others

  static std::vector<int> all_tags() {
    std::vector<int> tags(kMostFetches);
    std::iota(tags.begin(), tags.end(), kFirstBlockTag);
    return tags;
  }
};

void MpiPeers::Loop::run() {
  listen_for_blocks();
  if (peers_.rank_ == 0) listen_for_failures();
  listening_ = requests_.size();
  auto sleep = kLeastSleep;
  for (;;) {
    if (step()) {
      sleep = kLeastSleep;
      continue;
    }
    std::unique_lock lock(peers_.mutex_);
    if (peers_.ends_ && only_listens()) return stop_listening();
    const bool woken = peers_.for_thread_.wait_for(lock, sleep, [this] { return peers_.woken_; });
    sleep =
        woken ? kLeastSleep : std::min(2 * sleep, only_listens() ? kMostSleep : kMostSleepWaiting);
  }
}

// True if anything happened.
bool MpiPeers::Loop::step() {
  Exchange* exchange = nullptr;
  std::deque<Fetch> fetches;
  std::deque<ReadyBlock> ready;
  std::optional<std::string> failure;
  bool woken;
  {
    std::lock_guard lock(peers_.mutex_);
    woken = std::exchange(peers_.woken_, false);
    if (peers_.exchange_ != nullptr && !peers_.exchange_->started) {
      exchange = peers_.exchange_;
      exchange->started = true;
    }
    while (!peers_.fetches_.empty() && fetches.size() < free_tags_.size()) {
      fetches.push_back(std::move(peers_.fetches_.front()));
      peers_.fetches_.pop_front();
    }
    ready.swap(peers_.ready_);
    failure = std::exchange(peers_.failure_, std::nullopt);
  }
  if (failure) tell_failure(*failure);
  if (exchange != nullptr) start_exchange(*exchange);
  for (Fetch& fetch : fetches) start_fetch(std::move(fetch));
  for (ReadyBlock& block : ready) send(std::move(block));
  while (!waiting_.empty() && try_serve(waiting_.front().first, waiting_.front().second)) {
    waiting_.pop_front();
  }
  if (failed_ && Clock::now() - *failed_ > kFailurePatience) end_all(failure_);
  return test_requests() || woken;
}

// All by one call: each lets MPI look whether anything has arrived, and where processors are few,
// yields. True if any was completed.
bool MpiPeers::Loop::test_requests() {
  completed_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  // It may not look again at what it has let arrive.
  for (int looks = 0; looks < 2 && count == 0; ++looks) {
    MPI_Testsome(count_of(requests_.size()), requests_.data(), &count, completed_.data(),
                 statuses_.data());
  }
  std::vector<Action> follow;
  for (int i = 0; i < count; ++i) follow.push_back(std::move(actions_[completed_[i]]));
  std::erase(requests_, MPI_REQUEST_NULL);
  std::erase(actions_, nullptr);
  for (int i = 0; i < count; ++i) follow[i](statuses_[i]);  // they may add others
  return count > 0;
}

// ---- exchanges ----

void MpiPeers::Loop::start_exchange(Exchange& exchange) {
  const std::size_t ranks = peers_.ranks_;
  given_counts_.clear();
  for (const Message& message : exchange.given) given_counts_.push_back(count_of(message.size()));
  got_counts_.resize(ranks);
  MPI_Request request;
  MPI_Ialltoall(given_counts_.data(), 1, MPI_INT, got_counts_.data(), 1, MPI_INT, MPI_COMM_WORLD,
                &request);
  add(request, [this, &exchange](const MPI_Status&) { exchange_messages(exchange); });
}

void MpiPeers::Loop::exchange_messages(Exchange& exchange) {
  const auto places_of = [](const std::vector<int>& counts, Message& all) {
    std::vector<int> places;
    std::size_t at = 0;
    for (const int count : counts) {
      places.push_back(count_of(at));
      at += static_cast<std::size_t>(count);
    }
    all.resize(std::max<std::size_t>(at, 1));
    count_of(at);
    return places;
  };
  given_places_ = places_of(given_counts_, given_);
  got_places_ = places_of(got_counts_, got_);
  std::byte* to = given_.data();
  for (const Message& message : exchange.given) {
    to = std::copy(message.begin(), message.end(), to);
  }
  MPI_Request request;
  MPI_Ialltoallv(given_.data(), given_counts_.data(), given_places_.data(), MPI_BYTE, got_.data(),
                 got_counts_.data(), got_places_.data(), MPI_BYTE, MPI_COMM_WORLD, &request);
  add(request, [this, &exchange](const MPI_Status&) {
    for (std::size_t rank = 0; rank < got_counts_.size(); ++rank) {
      const std::byte* const from = got_.data() + got_places_[rank];
      exchange.got.emplace_back(from, from + got_counts_[rank]);
    }
    given_ = {};
    got_ = {};
    std::lock_guard lock(peers_.mutex_);
    exchange.done = true;
    peers_.for_others_.notify_all();
  });
}

// ---- blocks that this rank fetches ----

void MpiPeers::Loop::start_fetch(Fetch fetch) {
  const int tag = free_tags_.back();
  free_tags_.pop_back();
  const int rank = static_cast<int>(fetch.rank);
  const auto asked = std::make_shared<BlockRequest>(BlockRequest{fetch.name, tag});
  MPI_Request request;
  MPI_Irecv(fetch.block.data(), count_of(fetch.block.size()), MPI_BYTE, rank, tag, MPI_COMM_WORLD,
            &request);
  add(request, [this, tag, asked, done = std::move(fetch.done)](const MPI_Status&) {
    free_tags_.push_back(tag);
    done(nullptr);
  });
  MPI_Isend(asked.get(), sizeof *asked, MPI_BYTE, rank, kRequestTag, MPI_COMM_WORLD, &request);
  add(request, [asked](const MPI_Status&) {});
}

// ---- blocks that others fetch ----

void MpiPeers::Loop::listen_for_blocks() {
  MPI_Request request;
  MPI_Irecv(&asked_, sizeof asked_, MPI_BYTE, MPI_ANY_SOURCE, kRequestTag, MPI_COMM_WORLD,
            &request);
  add(request, [this](const MPI_Status& status) {
    const BlockRequest asked = asked_;
    listen_for_blocks();
    if (!waiting_.empty() || !try_serve(status.MPI_SOURCE, asked)) {
      waiting_.emplace_back(status.MPI_SOURCE, asked);
    }
  });
}

// False if it must wait: for memory, or until this rank serves.
bool MpiPeers::Loop::try_serve(int rank, const BlockRequest& request) {
  BlockServer* server;
  {
    std::lock_guard lock(peers_.mutex_);
    server = peers_.server_;
    if (server == nullptr) return false;
    ++peers_.serving_;
  }
  const bool reading =
      server->read(request.name, [&peers = peers_, rank, tag = request.tag](
                                     std::span<std::byte> block, std::exception_ptr failure) {
        std::lock_guard lock(peers.mutex_);
        peers.ready_.push_back({rank, tag, block, std::move(failure)});
        peers.wake();
      });
  if (!reading) {
    std::lock_guard lock(peers_.mutex_);
    --peers_.serving_;
  }
  return reading;
}

void MpiPeers::Loop::send(ReadyBlock ready) {
  if (ready.failure != nullptr) {
    try {
      std::rethrow_exception(ready.failure);
    } catch (const std::exception& error) {
      return tell_failure(error.what());
    }
  }
  MPI_Request request;
  MPI_Isend(ready.block.data(), count_of(ready.block.size()), MPI_BYTE, ready.rank, ready.tag,
            MPI_COMM_WORLD, &request);
  add(request, [this, block = ready.block](const MPI_Status&) {
    std::lock_guard lock(peers_.mutex_);
    peers_.server_->give_back(block);
    if (--peers_.serving_ == 0) peers_.for_others_.notify_all();
  });
}

// ---- failures ----

void MpiPeers::Loop::tell_failure(const std::string& message) {
  if (failed_) return;
  failed_ = Clock::now();
  const std::string line =
      peers_.prefix_ + (peers_.ranks_ > 1 ? "rank " + std::to_string(peers_.rank_) + ": " : "") +
      message;
  if (peers_.rank_ == 0) end_all(line);
  failure_ = line.substr(0, kMostFailureBytes);
  MPI_Request request;
  MPI_Isend(failure_.data(), count_of(failure_.size()), MPI_BYTE, 0, kFailureTag, MPI_COMM_WORLD,
            &request);
  add(request, [](const MPI_Status&) {});
}

void MpiPeers::Loop::listen_for_failures() {
  failure_.resize(kMostFailureBytes);
  MPI_Request request;
  MPI_Irecv(failure_.data(), count_of(failure_.size()), MPI_BYTE, MPI_ANY_SOURCE, kFailureTag,
            MPI_COMM_WORLD, &request);
  add(request, [this](const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    end_all(failure_.substr(0, static_cast<std::size_t>(bytes)));
  });
}

void MpiPeers::Loop::stop_listening() {
  for (MPI_Request& request : requests_) {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

// ---- what others call ----

MpiPeers::MpiPeers(std::string prefix) : prefix_(std::move(prefix)) {
  thread_ = Thread::start(
      "for MPI", [this] { communicate(); }, Thread::kLargeStackBytes);
  std::unique_lock lock(mutex_);
  for_others_.wait(lock, [this] { return running_; });
}

MpiPeers::~MpiPeers() {
  std::lock_guard lock(mutex_);
  ends_ = true;
  wake();
}

// The thread. (MPI takes the one that starts it for its main thread.)
void MpiPeers::communicate() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm local;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &local);
  int local_ranks = 1;
  MPI_Comm_size(local, &local_ranks);
  std::vector<int> numbers(static_cast<std::size_t>(local_ranks));
  MPI_Allgather(&rank, 1, MPI_INT, numbers.data(), 1, MPI_INT, local);
  const cpu_set_t own = processors_of_thread();
  std::vector<cpu_set_t> processors(numbers.size());
  MPI_Allgather(&own, sizeof own, MPI_BYTE, processors.data(), sizeof own, MPI_BYTE, local);
  MPI_Comm_free(&local);
  {
    std::lock_guard lock(mutex_);
    rank_ = static_cast<unsigned>(rank);
    ranks_ = static_cast<unsigned>(ranks);
    is_local_.resize(ranks_);
    for (const int number : numbers) is_local_[static_cast<std::size_t>(number)] = true;
    sharing_ = static_cast<unsigned>(
        std::count_if(processors.begin(), processors.end(), [&](const cpu_set_t& of_rank) {
          cpu_set_t both;
          CPU_AND(&both, &own, &of_rank);
          return CPU_COUNT(&both) > 0;
        }));
    running_ = true;
    for_others_.notify_all();
  }
  Loop(*this).run();
  MPI_Finalize();
}

unsigned MpiPeers::local_ranks() const {
  return static_cast<unsigned>(std::count(is_local_.begin(), is_local_.end(), true));
}

unsigned MpiPeers::processors() const {
  return std::max(1U, available_processors() / sharing_);
}

// With the lock held.
void MpiPeers::wake() {
  woken_ = true;
  for_thread_.notify_one();
}

std::vector<Message> MpiPeers::exchange(std::vector<Message> messages) {
  XXL_CHECK(messages.size() == ranks_);
  Exchange exchange;
  exchange.given = std::move(messages);
  std::unique_lock lock(mutex_);
  XXL_CHECK(exchange_ == nullptr);
  exchange_ = &exchange;
  wake();
  for_others_.wait(lock, [&] { return exchange.done; });
  exchange_ = nullptr;
  return std::move(exchange.got);
}

void MpiPeers::serve(BlockServer* server) {
  std::unique_lock lock(mutex_);
  for_others_.wait(lock, [this] { return serving_ == 0; });
  server_ = server;
  wake();
}

void MpiPeers::fetch(unsigned rank, BlockName name, std::span<std::byte> block, Done done) {
  std::lock_guard lock(mutex_);
  fetches_.push_back({rank, name, block, std::move(done)});
  wake();
}

void MpiPeers::fail(const std::string& message) {
  std::unique_lock lock(mutex_);
  failure_ = escape_controls(message, "\n\t");
  wake();
  for (;;) for_others_.wait(lock);  // until all are ended
}

}  // namespace xxl

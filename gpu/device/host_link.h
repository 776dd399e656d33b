// The way between a device and the memory of the host: threads that copy.
//
//     pinned memory    host ==========================> device     at the rate of the link
//     other memory     host ---> pinned blocks =======> device     the driver's own way, but with
//                                                                  several threads instead of one
//     idle peers       host ==========================> device     each copy is divided among all
//                      host ====> idle peer ==========> device     links: peers pass on their part
//
// Sources: Lutz et al., "Pump Up the Volume" (SIGMOD 2020), section 4 (ways to move data); Yuan
// et al., "Vortex" (PVLDB 18(4), 2025), section 4 (links of idle GPUs).
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/device/stream_thread.h"

namespace xxl::gpu {

// What copies may use beside the link of their device.
struct CopyWays {
  // Peers of the device, to which both may copy; each gives kPeerBytes of its memory.
  std::vector<Device*> idle = {};
  // Of processors that copy memory which is not pinned, in each direction; at least 1.
  unsigned threads = 2;
};

// The ways of one device of `devices` that share idle peers and processors.
CopyWays share_of(const CopyWays& all, std::size_t device, std::size_t devices);

class HostLink {
 public:
  // The device, idle ones and `mailbox` must outlive the link. `name` is for `time_line`, which may
  // be null. Throws Error{no_space} if an idle device has too little memory.
  HostLink(Device& device, const CopyWays& ways, const std::string& name, Mailbox& mailbox,
           TimeLine* time_line);
  ~HostLink();

  static constexpr std::size_t kPeerBytes = std::size_t{64} << 20;

  // Copies `bytes`; then `done` is left in the mailbox. Several copies may be under way, and end in
  // any order. What fails is thrown by the mailbox instead; then the link can only be destroyed.
  // Coordinator thread only.
  void copy_in(std::byte* device, const std::byte* host, std::size_t bytes,
               std::function<void()> done);
  void copy_out(std::byte* host, const std::byte* device, std::size_t bytes,
                std::function<void()> done);

  // Time spent copying, summed over threads.
  double in_seconds() const { return in_.busy_seconds(); }
  double out_seconds() const { return out_.busy_seconds(); }

  // Waits for the copies that are running and drops later ones.
  void end_threads();

 private:
  class Copier;
  struct Copy;
  struct WaitingCopy;
  // One of the directions. Each copier has one part that it copies and one that follows; so faster
  // links copy more.
  struct Direction {
    const char* what;
    std::vector<std::unique_ptr<Copier>> copiers;  // by turns of all links
    std::deque<WaitingCopy> waiting;
    std::size_t next;

    double busy_seconds() const;
  };

  void copy(Direction& direction, const Copy& all, std::function<void()> done);
  void start_waiting(Direction& direction);
  void run(Direction& direction, Copier& copier, WaitingCopy part);
  Copier& copier(Direction& direction, std::size_t number);
  std::size_t copiers_for(bool staged) const;  // of a link and direction

  Device& device_;
  std::vector<Device*> links_;  // the device, then idle peers
  std::string name_;
  Mailbox& mailbox_;
  TimeLine* time_line_;
  std::size_t staging_copiers_;  // of a link and direction
  Direction in_;
  Direction out_;
};

}  // namespace xxl::gpu

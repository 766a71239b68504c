// From the ledger of one run to the answers of a plan: the peak, what is alive then, and what a
// caching allocator would hold for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fake/ledger.h"

namespace massless {

// The report's kinds: buffers count with the parameters, inputs with the activations.
enum class PlanKind : std::uint8_t {
  parameters,
  gradients,
  optimizer_state,
  activations,
  temporaries
};
constexpr std::size_t kPlanKinds = 5;
PlanKind plan_kind(StorageKind kind) noexcept;

using KindBytes = std::array<std::int64_t, kPlanKinds>;

struct Analysis {
  std::int64_t peak = 0;
  std::uint32_t peak_event = 0;              // index into the events; of several, the first
  KindBytes at_peak{};                       // by kind; their sum is the peak
  KindBytes maxima{};                        // the most that each kind ever held
  std::vector<std::int64_t> live;            // bytes held after each event
  std::vector<std::uint32_t> alive_at_peak;  // storages, largest first
};

// Does the event change the bytes held on this type of device?
inline bool counts(const LedgerEvent& event, const std::vector<StorageRecord>& storages,
                   c10::DeviceType device) {
  return event.kind != EventKind::mark && storages[event.storage].device.type() == device;
}

// Storages whose kind is still `temporary` become `activation` where they were alive when a
// backward began (or at the end, if `ends_with_graph`: the graph still holds them).
void classify(const std::vector<LedgerEvent>& events, std::vector<StorageRecord>& storages,
              bool ends_with_graph);

// Looks at the storages of one type of device, by their kinds.
Analysis analyse(const std::vector<LedgerEvent>& events, const std::vector<StorageRecord>& storages,
                 c10::DeviceType device);

// Bytes of the segments that torch's CUDA caching allocator would have asked of the driver by the
// end of these events: 512-byte rounding, 2 MiB segments for blocks up to 1 MiB, 20 MiB ones below
// 10 MiB, multiples of 2 MiB above; best fit, splitting and merging, segments never returned.
// Source of the constants and the policy: c10/cuda/CUDACachingAllocator.cpp (torch 2.13 defaults).
std::int64_t caching_allocator_bytes(const std::vector<LedgerEvent>& events,
                                     const std::vector<StorageRecord>& storages,
                                     c10::DeviceType device);

}  // namespace massless

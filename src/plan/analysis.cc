#include "plan/analysis.h"

#include <algorithm>
#include <cstddef>

namespace massless {
namespace {

// Storages alive after each point where a backward begins, as a flag per storage.
std::vector<char> saved_for_backward(const std::vector<LedgerEvent>& events, std::size_t storages,
                                     bool ends_with_graph) {
  std::vector<char> alive(storages, 0);
  std::vector<char> saved(storages, 0);
  const auto save_all = [&] {
    for (std::size_t i = 0; i < storages; ++i) {
      saved[i] = static_cast<char>(saved[i] | alive[i]);
    }
  };
  bool backward = false;
  for (const LedgerEvent& event : events) {
    if (event.kind == EventKind::mark) {
      continue;
    }
    if (event.in_backward && !backward) {
      save_all();
    }
    backward = event.in_backward;
    if (event.kind == EventKind::birth) {
      alive[event.storage] = 1;
    } else if (event.kind == EventKind::death) {
      alive[event.storage] = 0;
    }
  }
  if (ends_with_graph && !backward) {
    save_all();
  }
  return saved;
}

}  // namespace

void classify(const std::vector<LedgerEvent>& events, std::vector<StorageRecord>& storages,
              bool ends_with_graph) {
  const auto saved = saved_for_backward(events, storages.size(), ends_with_graph);
  for (std::size_t i = 0; i < storages.size(); ++i) {
    if (saved[i] != 0 && storages[i].kind == StorageKind::temporary) {
      storages[i].kind = StorageKind::activation;
    }
  }
}

PlanKind plan_kind(StorageKind kind) noexcept {
  switch (kind) {
    case StorageKind::parameter:
    case StorageKind::buffer:
      return PlanKind::parameters;
    case StorageKind::gradient:
      return PlanKind::gradients;
    case StorageKind::optimizer_state:
      return PlanKind::optimizer_state;
    case StorageKind::activation:
    case StorageKind::input:
      return PlanKind::activations;
    case StorageKind::temporary:
      break;
  }
  return PlanKind::temporaries;
}

Analysis analyse(const std::vector<LedgerEvent>& events, const std::vector<StorageRecord>& storages,
                 c10::DeviceType device) {
  Analysis result;
  KindBytes now{};
  std::int64_t live = 0;
  result.live.reserve(events.size());
  std::vector<std::int64_t> bytes(storages.size(), 0);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const LedgerEvent& event = events[i];
    if (counts(event, storages, device)) {
      const auto kind = static_cast<std::size_t>(plan_kind(storages[event.storage].kind));
      live += event.bytes;
      now[kind] += event.bytes;
      result.maxima[kind] = std::max(result.maxima[kind], now[kind]);
      if (live > result.peak) {
        result.peak = live;
        result.peak_event = static_cast<std::uint32_t>(i);
        result.at_peak = now;
      }
    }
    result.live.push_back(live);
  }
  for (std::size_t i = 0; i < events.size() && i <= result.peak_event; ++i) {
    if (counts(events[i], storages, device)) {
      bytes[events[i].storage] += events[i].bytes;
    }
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] > 0) {
      result.alive_at_peak.push_back(static_cast<std::uint32_t>(i));
    }
  }
  std::stable_sort(result.alive_at_peak.begin(), result.alive_at_peak.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return bytes[a] > bytes[b]; });
  return result;
}

}  // namespace massless

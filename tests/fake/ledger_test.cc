#include "fake/ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "dispatch/state.h"

namespace massless {
namespace {

const c10::Device kCpu(c10::DeviceType::CPU);

TEST(Ledger, CountsLiveAndPeak) {
  Ledger ledger;
  const auto a = ledger.birth(100, kCpu);
  const auto b = ledger.birth(50, kCpu);
  ledger.resize(b, 80);
  ledger.death(a);
  EXPECT_EQ(ledger.live_bytes(), 80);
  EXPECT_EQ(ledger.peak_bytes(), 180);
  ledger.death(b);
  EXPECT_EQ(ledger.live_bytes(), 0);
  EXPECT_EQ(ledger.size(), 5U);
  const auto events = ledger.events();
  const std::vector<EventKind> kinds = {EventKind::birth, EventKind::birth, EventKind::growth,
                                        EventKind::death, EventKind::death};
  const std::vector<std::int64_t> live = {100, 150, 180, 80, 0};
  ASSERT_EQ(events.size(), kinds.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].kind, kinds[i]);
    EXPECT_EQ(events[i].live, live[i]);
  }
}

TEST(Ledger, AnEventKnowsItsOperator) {
  Ledger ledger;
  std::uint32_t id = 0;
  {
    const OpScope scope(fallback_stat("test::maker"), Rung::rule);
    id = ledger.birth(1, kCpu);
  }
  ledger.death(id);
  const auto names = ledger.names();
  EXPECT_EQ(names.at(ledger.storages().at(id).op), "test::maker");
  EXPECT_EQ(names.at(ledger.events().at(0).op), "test::maker");
  EXPECT_EQ(names.at(ledger.events().at(1).op), "");
}

TEST(Ledger, KindsNamesAndMarks) {
  Ledger ledger;
  const auto id = ledger.birth(4, c10::Device(c10::kCUDA, 0));
  ledger.set_kind(id, StorageKind::parameter);
  ledger.set_name(id, "layer.weight");
  ledger.mark(7);
  const StorageRecord record = ledger.storages().at(id);
  EXPECT_EQ(record.kind, StorageKind::parameter);
  EXPECT_EQ(record.device, c10::Device(c10::kCUDA, 0));
  EXPECT_EQ(ledger.names().at(record.name), "layer.weight");
  EXPECT_EQ(ledger.events().back().kind, EventKind::mark);
  EXPECT_EQ(ledger.events().back().storage, 7U);
  EXPECT_EQ(ledger.live_bytes(), 4);
}

TEST(Ledger, AStorageThatIsNotThereIsAnError) {
  Ledger ledger;
  EXPECT_THROW(ledger.set_kind(3, StorageKind::buffer), std::out_of_range);
  EXPECT_THROW(ledger.set_name(3, "x"), std::out_of_range);
}

TEST(Ledger, TakesEventsOfManyThreads) {
  Ledger ledger;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&ledger] {
      for (int n = 1; n <= 200; ++n) {
        ledger.death(ledger.birth(n, kCpu));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(ledger.live_bytes(), 0);
  EXPECT_EQ(ledger.size(), 1600U);
  std::int64_t live = 0;
  for (const LedgerEvent& event : ledger.events()) {
    live += event.bytes;
    EXPECT_EQ(event.live, live);
    EXPECT_GE(live, 0);
  }
}

}  // namespace
}  // namespace massless

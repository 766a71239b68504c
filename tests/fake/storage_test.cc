#include "fake/storage.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <string>

#include "dispatch/state.h"
#include "fake/help.h"
#include "fake/ledger.h"

namespace massless {
namespace {

c10::StorageImpl* storage_of(const at::Tensor& t) { return t.storage().unsafeGetStorageImpl(); }

TEST(Storage, HasASizeAndAToken) {
  const c10::Storage storage = new_storage(40, c10::Device(c10::kCPU));
  EXPECT_EQ(storage.nbytes(), 40U);
  const StorageToken* token = storage_token(storage.unsafeGetStorageImpl());
  ASSERT_NE(token, nullptr);
  EXPECT_EQ(token->device, c10::Device(c10::kCPU));
  EXPECT_EQ(token->ledger, nullptr);
  EXPECT_FALSE(token->known);
}

TEST(Storage, OthersHaveNoToken) {
  EXPECT_EQ(storage_token(nullptr), nullptr);
  const at::Tensor real = at::empty({2});
  EXPECT_EQ(storage_token(storage_of(real)), nullptr);
}

TEST(Storage, ViewsShareIt) {
  const at::Tensor base = fake_of({4, 4});
  const at::Tensor view = view_of(base, {2}, {4}, 1);
  EXPECT_EQ(storage_of(base), storage_of(view));
  EXPECT_EQ(storage_of(base), storage_of(base.detach()));
  EXPECT_EQ(storage_of(base), storage_of(base.alias()));
  EXPECT_NE(storage_of(base), storage_of(fake_of({4, 4})));
}

// Also inside composites and without a mode, every way to the bytes is an error that says so.
TEST(Storage, AccessToItsBytesRaises) {
  const at::Tensor fake = fake_of({4});
  const auto expect_access_error = [](const std::function<void()>& access) {
    try {
      access();
      ADD_FAILURE() << "bytes of a fake were given out";
    } catch (const c10::NotImplementedError& error) {
      ADD_FAILURE() << "a NotImplementedError, which torch swallows: " << error.what();
    } catch (const c10::Error& error) {
      EXPECT_NE(std::string(error.what()).find("[data_access]"), std::string::npos) << error.what();
    }
  };
  expect_access_error([&] { static_cast<void>(fake.data_ptr()); });
  expect_access_error([&] { static_cast<void>(fake.const_data_ptr()); });
  expect_access_error([&] { static_cast<void>(fake.mutable_data_ptr()); });
  expect_access_error([&] { static_cast<void>(fake.data_ptr<float>()); });
  expect_access_error([&] { static_cast<void>(fake.const_data_ptr<float>()); });
  expect_access_error([&] { static_cast<void>(fake.storage().data()); });
  expect_access_error([&] { static_cast<void>(fake.storage().mutable_data()); });
  expect_access_error([&] { static_cast<void>(fake.storage().data_ptr().get()); });
  expect_access_error([&] { static_cast<void>(storage_of(fake)->allocator()->allocate(8)); });
}

TEST(Storage, GrowsAndNeverShrinks) {
  const c10::Storage storage = new_storage(8, c10::Device(c10::kCPU));
  grow_storage(storage.unsafeGetStorageImpl(), 4);
  EXPECT_EQ(storage.nbytes(), 8U);
  grow_storage(storage.unsafeGetStorageImpl(), 32);
  EXPECT_EQ(storage.nbytes(), 32U);
}

TEST(Storage, TellsTheLedgerOfItsModeAlsoAfterTheMode) {
  FakeModeOptions options;
  options.ledger = std::make_shared<Ledger>();
  at::Tensor fake;
  {
    const FakeMode mode(options);
    fake = fake_of({4});
  }
  EXPECT_EQ(options.ledger->live_bytes(), 16);
  grow_storage(storage_of(fake), 64);
  EXPECT_EQ(options.ledger->live_bytes(), 64);
  resize_storage(storage_of(fake), 8);
  EXPECT_EQ(options.ledger->live_bytes(), 8);
  const at::Tensor view = fake.detach();
  fake.reset();
  EXPECT_EQ(options.ledger->live_bytes(), 8) << "a view keeps the storage";
}

TEST(Storage, ItsDeathIsRecorded) {
  FakeModeOptions options;
  options.ledger = std::make_shared<Ledger>();
  const FakeMode mode(options);
  { const at::Tensor fake = fake_of({4}); }
  EXPECT_EQ(options.ledger->live_bytes(), 0);
  EXPECT_EQ(options.ledger->events().back().kind, EventKind::death);
}

}  // namespace
}  // namespace massless

#include "plan/plan.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "dispatch/state.h"
#include "fake/storage.h"
#include "fake/tensor.h"

namespace massless {
namespace {

std::vector<at::Tensor> twins_of(const std::vector<at::Tensor>& inputs, c10::Device device,
                                 Ledger& ledger) {
  FakeConverter converter;
  std::vector<at::Tensor> twins;
  twins.reserve(inputs.size());
  for (const at::Tensor& input : inputs) {
    twins.push_back(converter.convert(input, {device}));
    const StorageToken* token = storage_token(twins.back().storage().unsafeGetStorageImpl());
    ledger.set_kind(token->id, StorageKind::input);
  }
  return twins;
}

}  // namespace

Plan plan(const TensorFunction& fn, const std::vector<at::Tensor>& inputs,
          const PlanOptions& options) {
  const auto ledger = std::make_shared<Ledger>();
  bool ends_with_graph = false;
  {
    const FakeMode mode({options.device, true, ledger});
    const auto results = fn(twins_of(inputs, options.device, *ledger));
    ends_with_graph = std::any_of(results.begin(), results.end(), [](const at::Tensor& t) {
      return t.defined() && t.grad_fn() != nullptr;
    });
  }
  Plan made{{}, ledger->events(), ledger->storages(), ledger->names(), ledger->flops()};
  made.analysis = analyse(made.events, made.storages, options.device.type(), ends_with_graph);
  return made;
}

}  // namespace massless

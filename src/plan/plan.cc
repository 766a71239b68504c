#include "plan/plan.h"

#include <algorithm>
#include <utility>

#include "dispatch/state.h"
#include "dispatch/sym_node.h"
#include "fake/storage.h"
#include "plan/maxima.h"

namespace massless {
namespace {

std::vector<at::Tensor> twins_of(const std::vector<at::Tensor>& inputs, const PlanOptions& options,
                                 Ledger& ledger) {
  FakeConverter converter;
  std::vector<at::Tensor> twins;
  twins.reserve(inputs.size());
  for (const at::Tensor& input : inputs) {
    FakeLikeOptions like{.device = options.device};
    if (twins.size() < options.sizes.size()) {
      like.sizes = options.sizes[twins.size()];
    }
    twins.push_back(converter.convert(input, like));
    const StorageToken* token = storage_token(twins.back().storage().unsafeGetStorageImpl());
    ledger.set_kind(token->id, StorageKind::input);
  }
  return twins;
}

Change change_of(const LedgerEvent& event) {
  using Direction = Change::Direction;
  const bool known = event.formula == nullptr;
  switch (event.kind) {
    case EventKind::birth:
      return {event.bytes, event.formula, 1, Direction::up};
    case EventKind::death:
      return {event.bytes, event.formula, -1, Direction::down};
    case EventKind::growth:
    case EventKind::mark:
      break;
  }
  return {event.bytes, event.formula, 1,
          !known             ? Direction::either
          : event.bytes >= 0 ? Direction::up
                             : Direction::down};
}

PlanFormulas formulas_of(const Plan& plan) {
  PlanFormulas made;
  if (plan.env == nullptr) {
    made.peak = Formula(plan.analysis.peak);
    std::transform(plan.analysis.maxima.begin(), plan.analysis.maxima.end(), made.kinds.begin(),
                   [](std::int64_t bytes) { return Formula(bytes); });
    return made;
  }
  std::vector<Change> all;
  std::array<std::vector<Change>, kPlanKinds> by_kind;
  for (const LedgerEvent& event : plan.events) {
    if (counts(event, plan.storages, plan.device)) {
      const PlanKind kind = plan_kind(plan.storages[event.storage].kind);
      all.push_back(change_of(event));
      by_kind[static_cast<std::size_t>(kind)].push_back(all.back());
    }
  }
  Maxima maxima(*plan.env);
  made.peak = Formula(plan.env, maxima.of(all));
  for (std::size_t i = 0; i < kPlanKinds; ++i) {
    made.kinds[i] = Formula(plan.env, maxima.of(by_kind[i]));
  }
  return made;
}

Formula flops_of(std::initializer_list<const FlopCount*> counts,
                 const std::shared_ptr<guard::ShapeEnv>& env) {
  if (env == nullptr) {
    std::int64_t sum = 0;
    for (const FlopCount* count : counts) {
      sum += count->total;
    }
    return Formula(sum);
  }
  sym::Expr sum = with_sym_errors([&] {
    return env->with_builder([&](const sym::Builder& build) {
      std::vector<sym::Expr> terms{build.integer(0), build.integer(0)};
      for (const FlopCount* count : counts) {
        terms.push_back(build.integer(count->plain));
        for (const auto& [formula, times] : count->symbolic) {
          terms.push_back(build.scale(env->simplify(formula), times));
        }
      }
      return build.sum(terms);
    });
  });
  return Formula(env, {sum});
}

PlanFlops flops_of(const Flops& flops, const std::shared_ptr<guard::ShapeEnv>& env) {
  return {flops_of({&flops.forward}, env), flops_of({&flops.backward}, env),
          flops_of({&flops.forward, &flops.backward}, env)};
}

// The numbers of the run at the example of the plan's formulas.
void move_numbers(Plan& plan) {
  const Point& point = plan.formulas.peak.example();
  std::unordered_map<sym::Expr, std::int64_t> values;
  const auto value = [&](sym::Expr e) {
    const auto [it, added] = values.try_emplace(e, 0);
    if (added) {
      it->second = value_at(*plan.env, e, point);
    }
    return it->second;
  };
  std::int64_t live = 0;
  for (LedgerEvent& event : plan.events) {
    if (event.formula != nullptr) {
      event.bytes = (event.kind == EventKind::death ? -1 : 1) * value(event.formula);
    }
    live += event.bytes;
    event.live = live;
  }
  for (StorageRecord& record : plan.storages) {
    if (record.formula != nullptr) {
      record.bytes = value(record.formula);
    }
  }
}

}  // namespace

Plan make_plan(const Ledger& ledger, std::shared_ptr<guard::ShapeEnv> env, c10::DeviceType device,
               bool ends_with_graph) {
  Plan made;
  made.events = ledger.events();
  made.storages = ledger.storages();
  made.names = ledger.names();
  made.env = ledger.env() != nullptr ? ledger.env() : std::move(env);
  made.device = device;
  classify(made.events, made.storages, ends_with_graph);
  made.analysis = analyse(made.events, made.storages, device);
  made.flops = flops_of(ledger.flops(), made.env);
  made.formulas = formulas_of(made);
  return made;
}

Plan Plan::at(const NamedValues& values) const {
  Plan made = *this;
  made.formulas.peak = formulas.peak.at(values);  // looks at the guards
  for (Formula& kind : made.formulas.kinds) {
    kind = kind.at(values);
  }
  made.flops = {flops.forward.at(values), flops.backward.at(values), flops.total.at(values)};
  if (env != nullptr) {
    move_numbers(made);
    made.analysis = analyse(made.events, made.storages, device);
  }
  return made;
}

std::vector<std::pair<std::string, std::int64_t>> Plan::symbols() const {
  std::vector<std::pair<std::string, std::int64_t>> all;
  for (sym::Expr symbol : env != nullptr ? env->symbols() : std::vector<sym::Expr>{}) {
    const Point& example = formulas.peak.example();
    if (const auto found = example.find(symbol->symbol()); found != example.end()) {
      all.emplace_back(env->print(symbol), found->second);
    }
  }
  return all;
}

Plan plan(const TensorFunction& fn, const std::vector<at::Tensor>& inputs,
          const PlanOptions& options) {
  const auto ledger = std::make_shared<Ledger>();
  bool ends_with_graph = false;
  {
    const FakeMode mode({.device = options.device, .ledger = ledger, .env = options.env});
    const auto results = fn(twins_of(inputs, options, *ledger));
    ends_with_graph = std::any_of(results.begin(), results.end(), [](const at::Tensor& t) {
      return t.defined() && t.grad_fn() != nullptr;
    });
  }
  return make_plan(*ledger, options.env, options.device.type(), ends_with_graph);
}

}  // namespace massless

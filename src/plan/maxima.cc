#include "plan/maxima.h"

#include <set>

#include "dispatch/error.h"
#include "dispatch/sym_node.h"
#include "sym/checked.h"

namespace massless {

using sym::Expr;

// What the guards say of the symbols is put in: solved ones are replaced.
const Maxima::SparseTerms& Maxima::terms_of(Expr e) {
  const auto [it, added] = terms_.try_emplace(e);
  if (added) {
    for (const sym::Term& t : sym::Terms(env_.simplify(e))) {
      if (t.monomial == nullptr) {
        it->second.emplace_back(0, t.coefficient);
        continue;
      }
      const auto [index, fresh] =
          indices_.try_emplace(t.monomial, static_cast<std::uint32_t>(monomials_.size()));
      if (fresh) {
        monomials_.push_back(t.monomial);
      }
      it->second.emplace_back(index->second, t.coefficient);
    }
  }
  return it->second;
}

// The amounts after steps that no neighbour exceeds: a step up is below what comes before a next
// step up, and after a step down the amount is below the one before.
std::vector<Coefficients> Maxima::candidates(std::span<const Change> changes) {
  for (const Change& change : changes) {
    if (change.formula != nullptr) {
      terms_of(change.formula);
    }
  }
  Coefficients now(monomials_.size(), 0);
  std::set<Coefficients> found;
  const auto add = [&](std::uint32_t index, std::int64_t by) {
    const auto sum = sym::checked_add(now[index], by);
    if (!sum) {
      raise(ErrorCode::sym_overflow, "the bytes of all storages together do not fit");
    }
    now[index] = *sum;
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    if (change.formula == nullptr) {
      add(0, change.number);
    } else {
      for (const auto& [index, coefficient] : terms_of(change.formula)) {
        add(index, change.sign * coefficient);
      }
    }
    const bool falls = change.direction == Change::Direction::down;
    const bool rises = i + 1 < changes.size() && changes[i + 1].direction == Change::Direction::up;
    if (!falls && !rises) {
      found.insert(now);
    }
  }
  if (found.empty()) {
    found.insert(Coefficients(monomials_.size(), 0));
  }
  return {found.begin(), found.end()};
}

Expr Maxima::expression(const Coefficients& c) const {
  return env_.with_builder([&](const sym::Builder& build) {
    std::vector<Expr> terms;
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (c[i] != 0) {
        terms.push_back(i == 0 ? build.integer(c[i]) : build.scale(monomials_[i], c[i]));
      }
    }
    return terms.empty() ? build.integer(0) : build.sum(terms);
  });
}

std::vector<Expr> Maxima::of(std::span<const Change> changes) {
  return with_sym_errors([&] {
    std::vector<Expr> all;
    for (const Coefficients& c : undominated(env_, monomials_, candidates(changes))) {
      all.push_back(expression(c));
    }
    return all;
  });
}

}  // namespace massless

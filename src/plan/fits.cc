#include "plan/fits.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dispatch/error.h"
#include "plan/interval.h"
#include "sym/checked.h"

namespace massless {
namespace {

using sym::Expr;
using sym::Range;
using sym::Truth;

constexpr std::size_t kMaxSteps = 200'000;

class Search {
 public:
  // `terms`: what must be at most `budget`; none: the guards alone are asked.
  Search(guard::ShapeEnv& env, Point point, std::uint32_t symbol, std::vector<Expr> terms,
         std::int64_t budget)
      : env_(env),
        point_(std::move(point)),
        symbol_(symbol),
        terms_(std::move(terms)),
        budget_(std::min(budget, kLargest - 1)) {
    for (const guard::Guard& guard : env_.guards()) {
      guards_.push_back(guard.condition);
    }
    const guard::SymbolOptions& options = env_.options_of(env_.symbols().at(symbol));
    step_ = options.multiple_of;
    range_ = options.range;
  }

  // In multiples of the step.
  std::optional<std::int64_t> largest() {
    const std::int64_t lo = -*sym::checked_floordiv(-std::max<std::int64_t>(range_.lo, 0), step_);
    const std::int64_t hi = *sym::checked_floordiv(std::min(range_.hi, kLargest), step_);
    std::vector<Range> parts;
    if (lo <= hi) {
      parts.push_back({lo, hi});
    }
    for (std::size_t steps = 0; !parts.empty(); ++steps) {
      if (steps == kMaxSteps) {
        raise(ErrorCode::sym_unsupported, "the largest " + env_.print(env_.symbols().at(symbol_)) +
                                              " that fits was not found in " +
                                              std::to_string(kMaxSteps) + " steps");
      }
      const Range part = parts.back();
      parts.pop_back();
      const Truth fits =
          part.is_point() ? at(part.lo * step_) : among({part.lo * step_, part.hi * step_});
      // A guard without a value at the point, which the intervals do not know, is decided there.
      if (fits == Truth::yes && (part.is_point() || at(part.hi * step_) == Truth::yes)) {
        return part.hi * step_;
      }
      if (fits != Truth::no && !part.is_point()) {
        const std::int64_t middle = part.lo + (part.hi - part.lo) / 2;
        parts.push_back({part.lo, middle});
        parts.push_back({middle + 1, part.hi});
      }
    }
    return std::nullopt;
  }

  // All values above the largest one found fit, but for those where a number outgrows 64 bits.
  bool is_unbounded(std::int64_t largest) const {
    if (range_.hi != Range::kPlusInf) {
      return false;
    }
    return largest > kLargest / 2 || among({largest, Range::kPlusInf}) == Truth::yes;
  }

 private:
  static constexpr std::int64_t kLargest = Range::kPlusInf - 1;

  // yes, no: of every one of the values.
  Truth among(Range values) const {
    Interval interval(
        [&](std::uint32_t index) { return index == symbol_ ? values : range_of(index); });
    Truth all = Truth::yes;
    for (Expr guard : guards_) {
      const Range truth = interval.of(guard);
      if (truth.hi == 0) {
        return Truth::no;
      }
      all = truth.lo == 1 ? all : Truth::unknown;
    }
    for (Expr term : terms_) {
      const Range bytes = interval.of(term);
      if (bytes.lo > budget_) {
        return Truth::no;
      }
      all = bytes.hi <= budget_ ? all : Truth::unknown;
    }
    return all;
  }

  Range range_of(std::uint32_t index) const {
    const auto found = point_.find(index);
    return found == point_.end() ? Range::all() : Range::point(found->second);
  }

  Truth at(std::int64_t value) {
    point_[symbol_] = value;
    if (!env_.holds(point_, nullptr)) {
      return Truth::no;
    }
    for (Expr term : terms_) {
      const auto bytes = env_.value(term, point_);
      if (!bytes || *bytes > budget_) {  // what does not fit in 64 bits fits in no memory
        return Truth::no;
      }
    }
    return Truth::yes;
  }

  guard::ShapeEnv& env_;
  Point point_;
  std::uint32_t symbol_;
  std::vector<Expr> terms_;
  std::int64_t budget_;
  std::vector<Expr> guards_;
  std::int64_t step_ = 1;
  Range range_;
};

}  // namespace

std::optional<std::int64_t> largest_within(const Formula& formula, const NamedValues& fixed,
                                           const std::string& symbol, std::int64_t budget) {
  const auto& env = formula.env();
  if (env == nullptr) {
    raise(ErrorCode::guard_failed, "'" + symbol + "' is no symbol of this plan, which has none");
  }
  const std::uint32_t index = symbol_named(*env, symbol);
  Point point = formula.example();
  for (const auto& [name, value] : fixed) {
    point[symbol_named(*env, name)] = value;
  }
  Search search(*env, point, index, formula.terms(), budget);
  if (const auto found = search.largest()) {
    return search.is_unbounded(*found) ? std::nullopt : found;
  }
  if (!Search(*env, point, index, {}, budget).largest()) {
    std::string why;
    env->holds(point, &why);
    raise(ErrorCode::guard_failed, "the guards hold for no value of " + symbol + ": " + why);
  }
  return 0;
}

}  // namespace massless

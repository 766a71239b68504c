// Numbers of bytes and of operations as functions of a run's symbols.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "guard/shape_env.h"

namespace massless {

// Values of symbols, by index (sym::Node::symbol).
using Point = std::unordered_map<std::uint32_t, std::int64_t>;
using NamedValues = std::map<std::string, std::int64_t>;

// The symbol of that name with an example; else guard_failed.
std::uint32_t symbol_named(guard::ShapeEnv& env, const std::string& name);
// The point of an environment where the named symbols have these values and the others their
// examples. The guards are not asked.
Point point_of(guard::ShapeEnv& env, const NamedValues& values);
// Raises guard_failed, which tells the guard, unless all guards hold at the point.
void require_guards(guard::ShapeEnv& env, const Point& point);
// Raises sym_overflow where the value does not fit in 64 bits.
std::int64_t value_at(guard::ShapeEnv& env, sym::Expr e, const Point& point);

// A number, or the largest of some expressions. It holds wherever the guards of its environment do;
// elsewhere asking for its value raises guard_failed.
class Formula {
 public:
  Formula() = default;  // 0
  explicit Formula(std::int64_t constant) : constant_(constant) {}
  // One term or more.
  Formula(std::shared_ptr<guard::ShapeEnv> env, std::vector<sym::Expr> terms);

  // At the example: that of the run, or the one that `at` gave.
  std::int64_t value() const { return constant_; }
  // With these symbols replaced by numbers; the others stay free, with their examples.
  Formula subs(const NamedValues& values) const;
  // With another example; all symbols stay free.
  Formula at(const NamedValues& values) const;

  // In the order of their declaration.
  std::vector<std::string> symbols() const;
  // "64*batch*seq + 1024", or "max(..., ...)", the term that is largest at the example first.
  std::string text() const;

  const std::vector<sym::Expr>& terms() const noexcept { return terms_; }
  const std::shared_ptr<guard::ShapeEnv>& env() const noexcept { return env_; }
  const Point& example() const noexcept { return example_; }

 private:
  void move_to(Point example);
  std::vector<sym::Expr> with_numbers() const;

  std::int64_t constant_ = 0;
  std::shared_ptr<guard::ShapeEnv> env_;  // null: the constant is all
  std::vector<sym::Expr> terms_;
  Point example_;
  std::set<std::uint32_t> fixed_;
};

inline std::ostream& operator<<(std::ostream& out, const Formula& f) { return out << f.text(); }

}  // namespace massless

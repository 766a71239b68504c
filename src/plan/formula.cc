#include "plan/formula.h"

#include <algorithm>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/sym_node.h"
#include "sym/evaluate.h"

namespace massless {
namespace {

using sym::Expr;

[[noreturn]] void raise_no_symbol(const std::string& name, const std::string& known) {
  raise(ErrorCode::guard_failed,
        "'" + name + "' is no symbol of this plan, which has " + (known.empty() ? "none" : known));
}

std::vector<std::uint32_t> symbols_of(const std::vector<Expr>& terms) {
  std::set<std::uint32_t> all;
  for (Expr term : terms) {
    const auto some = sym::symbols_of(term);
    all.insert(some.begin(), some.end());
  }
  return {all.begin(), all.end()};
}

}  // namespace

std::uint32_t symbol_named(guard::ShapeEnv& env, const std::string& name) {
  std::string known;
  for (Expr symbol : env.symbols()) {
    if (!env.options_of(symbol).hint) {
      continue;
    }
    const std::string other = env.print(symbol);
    if (other == name) {
      return symbol->symbol();
    }
    known += (known.empty() ? "" : ", ") + other;
  }
  raise_no_symbol(name, known);
}

Point point_of(guard::ShapeEnv& env, const NamedValues& values) {
  Point point;
  for (Expr symbol : env.symbols()) {
    if (const auto hint = env.options_of(symbol).hint) {
      point[symbol->symbol()] = *hint;
    }
  }
  for (const auto& [name, value] : values) {
    point[symbol_named(env, name)] = value;
  }
  return point;
}

void require_guards(guard::ShapeEnv& env, const Point& point) {
  std::string why;
  if (!env.holds(point, &why)) {
    raise(ErrorCode::guard_failed, why);
  }
}

std::int64_t value_at(guard::ShapeEnv& env, Expr e, const Point& point) {
  const auto value = env.value(e, point);
  if (!value) {
    raise(ErrorCode::sym_overflow, "the value of " + env.print(e) + " there does not fit");
  }
  return *value;
}

Formula::Formula(std::shared_ptr<guard::ShapeEnv> env, std::vector<Expr> terms)
    : env_(std::move(env)), terms_(std::move(terms)) {
  move_to(point_of(*env_, {}));
}

void Formula::move_to(Point example) {
  example_ = std::move(example);
  constant_ = value_at(*env_, terms_.front(), example_);
  for (Expr term : terms_) {
    constant_ = std::max(constant_, value_at(*env_, term, example_));
  }
}

Formula Formula::at(const NamedValues& values) const {
  Formula moved = *this;
  if (env_ == nullptr) {
    if (!values.empty()) {
      raise_no_symbol(values.begin()->first, "");
    }
    return moved;
  }
  Point point = example_;
  for (const auto& [name, value] : values) {
    const std::uint32_t index = symbol_named(*env_, name);
    if (fixed_.contains(index) && point.at(index) != value) {
      raise(ErrorCode::guard_failed,
            "'" + name + "' was replaced by " + std::to_string(point.at(index)) + " before");
    }
    point[index] = value;
  }
  require_guards(*env_, point);
  moved.move_to(std::move(point));
  return moved;
}

Formula Formula::subs(const NamedValues& values) const {
  Formula made = at(values);
  for (const auto& [name, value] : values) {
    made.fixed_.insert(symbol_named(*env_, name));
  }
  return made;
}

std::vector<Expr> Formula::with_numbers() const {
  if (fixed_.empty()) {
    return terms_;
  }
  std::vector<Expr> out;
  env_->with_builder([&](const sym::Builder& build) {
    for (Expr term : terms_) {
      out.push_back(sym::substitute(term, build, [&](Expr symbol) -> Expr {
        const std::uint32_t index = symbol->symbol();
        return fixed_.contains(index) ? build.integer(example_.at(index)) : nullptr;
      }));
    }
  });
  return out;
}

std::vector<std::string> Formula::symbols() const {
  std::vector<std::string> names;
  if (env_ == nullptr) {
    return names;
  }
  const auto all = env_->symbols();
  for (const std::uint32_t index : symbols_of(terms_)) {
    if (!fixed_.contains(index)) {
      names.push_back(env_->print(all.at(index)));
    }
  }
  return names;
}

std::string Formula::text() const {
  if (env_ == nullptr) {
    return std::to_string(constant_);
  }
  std::set<std::pair<std::int64_t, std::string>> texts;  // the largest value first
  std::optional<std::int64_t> number;                    // the largest of those without symbols
  with_sym_errors([&] {
    for (Expr term : with_numbers()) {
      if (term->is_constant()) {
        number = std::max(number.value_or(term->value()), term->value());
      } else {
        texts.emplace(-value_at(*env_, term, example_), env_->print(term));
      }
    }
  });
  if (number) {
    texts.emplace(-*number, std::to_string(*number));
  }
  std::string all;
  for (const auto& [value, text] : texts) {
    all += (all.empty() ? "" : ", ") + text;
  }
  return texts.size() == 1 ? all : "max(" + all + ")";
}

}  // namespace massless

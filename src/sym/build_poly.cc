// Polynomials: sums of coefficient * monomial, monomials products of powers of atoms.
#include <algorithm>
#include <functional>
#include <vector>

#include "sym/build.h"
#include "sym/checked.h"
#include "sym/scratch.h"

namespace massless::sym {
namespace {

[[noreturn]] void overflow(const char* what) {
  throw SymError(ErrorCode::sym_overflow,
                 std::string("a coefficient of the ") + what + " does not fit in 64 bits");
}

std::int64_t require(std::optional<std::int64_t> value, const char* what) {
  if (!value) {
    overflow(what);
  }
  return *value;
}

// The constant term first, the others by their monomial's id.
bool before(const Term& a, const Term& b) {
  if (a.monomial == nullptr || b.monomial == nullptr) {
    return a.monomial == nullptr && b.monomial != nullptr;
  }
  return a.monomial->id < b.monomial->id;
}

// From sorted terms without a coefficient of 0.
Expr from_terms(Context& context, std::span<const Term> terms) {
  if (terms.empty()) {
    return context.integer(0);
  }
  if (terms.size() == 1) {
    if (terms[0].monomial == nullptr) {
      return context.integer(terms[0].coefficient);
    }
    if (terms[0].coefficient == 1) {
      return terms[0].monomial;
    }
  }
  return context.raw_sum(terms);
}

Expr merged(Context& context, std::span<const Term> a, std::span<const Term> b) {
  Scratch<Term> out(a.size() + b.size());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].monomial == b[j].monomial) {
      const auto c = require(checked_add(a[i].coefficient, b[j].coefficient), "sum");
      if (c != 0) {
        out.push_back({c, a[i].monomial});
      }
      ++i;
      ++j;
    } else if (before(a[i], b[j])) {
      out.push_back(a[i++]);
    } else {
      out.push_back(b[j++]);
    }
  }
  out.append(a.subspan(i));
  out.append(b.subspan(j));
  return from_terms(context, out.span());
}

// Sorts and adds up equal monomials. Only the whole has to fit: in which order they are added is
// not said.
Expr collected(Context& context, std::span<Term> terms) {
  std::sort(terms.begin(), terms.end(), before);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size();) {
    Expr monomial = terms[i].monomial;
    Int128 all = 0;
    for (; i < terms.size() && terms[i].monomial == monomial; ++i) {
      all += terms[i].coefficient;
    }
    const auto coefficient = static_cast<std::int64_t>(all);
    if (coefficient != all) {
      overflow("sum");
    }
    if (coefficient != 0) {
      terms[kept++] = {coefficient, monomial};
    }
  }
  return from_terms(context, terms.first(kept));
}

Expr monomial_product(Context& context, Expr a, Expr b) {
  if (a == nullptr || b == nullptr) {
    return a == nullptr ? b : a;
  }
  const Factors fa(a);
  const Factors fb(b);
  Scratch<Factor> out(fa.size() + fb.size());
  auto i = fa.begin();
  auto j = fb.begin();
  while (i != fa.end() && j != fb.end()) {
    if (i->atom == j->atom) {
      std::uint32_t exponent = 0;
      if (__builtin_add_overflow(i->exponent, j->exponent, &exponent)) {
        overflow("product");
      }
      out.push_back({i->atom, exponent});
      ++i;
      ++j;
    } else if (i->atom->id < j->atom->id) {
      out.push_back(*i++);
    } else {
      out.push_back(*j++);
    }
  }
  out.append({i, fa.end()});
  out.append({j, fb.end()});
  return context.raw_product(out.span());
}

// m / n, null in `ok` where n does not divide m; the quotient 1 is a null monomial.
std::optional<Expr> monomial_quotient(Context& context, Expr m, Expr n) {
  if (n == nullptr) {
    return m;
  }
  if (m == nullptr) {
    return std::nullopt;
  }
  const Factors fm(m);
  const Factors fn(n);
  Scratch<Factor> out(fm.size());
  auto j = fn.begin();
  for (const Factor& f : fm) {
    std::uint32_t exponent = f.exponent;
    if (j != fn.end() && j->atom == f.atom) {
      if (j->exponent > exponent) {
        return std::nullopt;
      }
      exponent -= j->exponent;
      ++j;
    }
    if (exponent > 0) {
      out.push_back({f.atom, exponent});
    }
  }
  if (j != fn.end()) {
    return std::nullopt;
  }
  if (out.size() == 0) {
    return nullptr;
  }
  return out.size() == 1 && out[0].exponent == 1 ? out[0].atom : context.raw_product(out.span());
}

// An order of monomials that multiplication keeps: by degree, then by the exponents of the atoms in
// the order of their ids.
bool leads(Expr a, Expr b) {
  if (a == nullptr || b == nullptr) {
    return a != nullptr;
  }
  const Factors fa(a);
  const Factors fb(b);
  const auto degree = [](const Factors& f) {
    std::uint64_t d = 0;
    for (const Factor& x : f) {
      d += x.exponent;
    }
    return d;
  };
  if (degree(fa) != degree(fb)) {
    return degree(fa) > degree(fb);
  }
  auto i = fa.begin();
  auto j = fb.begin();
  for (; i != fa.end() && j != fb.end(); ++i, ++j) {
    if (i->atom != j->atom) {
      return i->atom->id < j->atom->id;
    }
    if (i->exponent != j->exponent) {
      return i->exponent > j->exponent;
    }
  }
  return i != fa.end();
}

const Term& leading(const Terms& terms) {
  return *std::min_element(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return a.monomial != b.monomial && leads(a.monomial, b.monomial);
  });
}

std::optional<Term> term_quotient(Context& context, const Term& a, const Term& b) {
  if (floor_mod(a.coefficient, b.coefficient) != 0) {
    return std::nullopt;
  }
  const auto coefficient = checked_floordiv(a.coefficient, b.coefficient);
  const auto monomial = monomial_quotient(context, a.monomial, b.monomial);
  if (!coefficient || !monomial) {
    return std::nullopt;
  }
  return Term{*coefficient, *monomial};
}

}  // namespace

Range Builder::range(Expr e) const { return bounds_ == nullptr ? e->range : bounds_->range(e); }

// Results under facts are not cached: facts change.
Expr Builder::cached(Op op, Expr a, Expr b, Expr (Builder::*make)(Expr, Expr) const) const {
  if (bounds_ != nullptr) {
    return (this->*make)(a, b);
  }
  Context::CacheEntry& entry = context_.cached(op, a, b);
  if (entry.a == a->id + 1 && entry.b == b->id + 1 && entry.op == op) {
    return entry.result;
  }
  Expr made = (this->*make)(a, b);
  // Not the reference from before: making may have used the entry.
  context_.cached(op, a, b) = {a->id + 1, b->id + 1, op, made};
  return made;
}

Expr Builder::add(Expr a, Expr b) const {
  if (a->is_constant(0) || b->is_constant(0)) {
    return a->is_constant(0) ? b : a;
  }
  return cached(Op::add, a, b, &Builder::add_fresh);
}

Expr Builder::add_fresh(Expr a, Expr b) const {
  const Terms ta(a);
  const Terms tb(b);
  return merged(context_, ta.span(), tb.span());
}

Expr Builder::sum(std::span<const Expr> operands) const {
  std::vector<Term> all;
  for (Expr e : operands) {
    const Terms terms(e);
    all.insert(all.end(), terms.begin(), terms.end());
  }
  return collected(context_, all);
}

Expr Builder::scale(Expr a, std::int64_t factor) const {
  if (factor == 1) {
    return a;
  }
  if (factor == 0) {
    return context_.integer(0);
  }
  const Terms terms(a);
  Scratch<Term> out(terms.size());
  for (const Term& t : terms) {
    out.push_back({require(checked_mul(t.coefficient, factor), "product"), t.monomial});
  }
  return from_terms(context_, out.span());
}

Expr Builder::neg(Expr a) const { return scale(a, -1); }

Expr Builder::sub(Expr a, Expr b) const {
  if (b->is_constant(0)) {
    return a;
  }
  return a == b ? context_.integer(0) : add(a, scale(b, -1));
}

Expr Builder::mul(Expr a, Expr b) const {
  if (a->is_constant() || b->is_constant()) {
    return a->is_constant() ? scale(b, a->value()) : scale(a, b->value());
  }
  return a->id < b->id ? cached(Op::mul, a, b, &Builder::mul_fresh)
                       : cached(Op::mul, b, a, &Builder::mul_fresh);
}

Expr Builder::mul_fresh(Expr a, Expr b) const {
  const Terms ta(a);
  const Terms tb(b);
  if (ta.size() * tb.size() > Context::kMaxTerms) {
    throw SymError(ErrorCode::sym_overflow, "a product of " + std::to_string(ta.size()) + " by " +
                                                std::to_string(tb.size()) + " terms");
  }
  Scratch<Term> out(ta.size() * tb.size());
  for (const Term& x : ta) {
    for (const Term& y : tb) {
      out.push_back({require(checked_mul(x.coefficient, y.coefficient), "product"),
                     monomial_product(context_, x.monomial, y.monomial)});
    }
  }
  return collected(context_, out.span());
}

Expr Builder::pow(Expr a, std::int64_t exponent) const {
  if (exponent < 0) {
    throw SymError(ErrorCode::bad_argument,
                   "the power " + std::to_string(exponent) + " of an integer is no integer");
  }
  Expr result = context_.integer(1);
  // 0, 1 and -1 have every power; the powers of others soon do not fit.
  if (a->is_constant() && magnitude(a->value()) <= 1) {
    return exponent == 0 ? result : exponent % 2 == 0 ? mul(a, a) : a;
  }
  for (Expr base = a;;) {
    if (exponent % 2 == 1) {
      result = mul(result, base);
    }
    exponent /= 2;
    if (exponent == 0) {
      return result;
    }
    base = mul(base, base);
  }
}

// Long division; the leading monomial falls in each step, so it ends. Null where it does not
// divide.
Expr Builder::long_quotient(Expr a, Expr b) const {
  constexpr std::size_t kMaxSteps = 64;
  const Term lead = leading(Terms(b));
  std::vector<Term> quotient;
  Expr rest = a;
  while (!rest->is_constant(0)) {
    const auto q = term_quotient(context_, leading(Terms(rest)), lead);
    if (!q || quotient.size() == kMaxSteps) {
      return nullptr;
    }
    quotient.push_back(*q);
    rest = sub(rest, mul(b, from_terms(context_, std::span(&*q, 1))));
  }
  return collected(context_, quotient);
}

Expr Builder::exact_quotient(Expr a, Expr b) const {
  const Terms divisor(b);
  if (divisor.size() == 0) {
    return nullptr;
  }
  if (divisor.size() > 1) {
    try {
      return long_quotient(a, b);
    } catch (const SymError&) {  // a step does not fit in 64 bits
      return nullptr;
    }
  }
  const Terms dividend(a);
  Scratch<Term> quotient(dividend.size());
  for (const Term& t : dividend) {
    const auto q = term_quotient(context_, t, leading(divisor));
    if (!q) {
      return nullptr;
    }
    quotient.push_back(*q);
  }
  return collected(context_, quotient.span());
}

Expr Builder::multiples(Expr a, Expr b) const {
  const Terms divisor(b);
  if (divisor.size() != 1) {
    return context_.integer(0);
  }
  const Terms dividend(a);
  Scratch<Term> quotient(dividend.size());
  for (const Term& t : dividend) {
    if (const auto q = term_quotient(context_, t, leading(divisor))) {
      quotient.push_back(*q);
    }
  }
  return collected(context_, quotient.span());
}

Expr Builder::common_factor(Expr a, Expr b) const {
  std::uint64_t content = 0;
  std::vector<Factor> shared;
  bool first = true;
  for (Expr e : {a, b}) {
    for (const Term& t : Terms(e)) {
      content = gcd(content, magnitude(t.coefficient));
      if (t.monomial == nullptr) {
        shared.clear();
        first = false;
        continue;
      }
      const Factors factors(t.monomial);
      if (first) {
        shared.assign(factors.begin(), factors.end());
        first = false;
        continue;
      }
      for (Factor& f : shared) {
        const auto found = std::find_if(factors.begin(), factors.end(),
                                        [&](const Factor& g) { return g.atom == f.atom; });
        f.exponent = found == factors.end() ? 0 : std::min(f.exponent, found->exponent);
      }
      std::erase_if(shared, [](const Factor& f) { return f.exponent == 0; });
    }
  }
  const auto coefficient = static_cast<std::int64_t>(std::min<std::uint64_t>(content, 1ULL << 62));
  if (static_cast<std::uint64_t>(coefficient) != content || content == 0) {
    return context_.integer(1);
  }
  Expr monomial = shared.empty()                                  ? nullptr
                  : shared.size() == 1 && shared[0].exponent == 1 ? shared[0].atom
                                                                  : context_.raw_product(shared);
  return monomial == nullptr ? context_.integer(coefficient) : scale(monomial, coefficient);
}

}  // namespace massless::sym

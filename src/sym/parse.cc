// Parsing: operators wait on a stack until one that binds less comes (Dijkstra's shunting yard).
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "sym/build.h"
#include "sym/real.h"
#include "sym/text.h"

namespace massless::sym {
namespace {

enum class Kind : std::uint8_t { end, number, real, name, symbol };

struct Token {
  Kind kind = Kind::end;
  std::string_view text;
  std::size_t column = 0;
};

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void fail(std::string_view text, std::size_t column, const std::string& what) {
  throw SymError(ErrorCode::sym_parse, "\"" + std::string(text.substr(0, 200)) + "\", column " +
                                           std::to_string(column + 1) + ": " + what);
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
    const std::size_t start = at_;
    if (at_ == text_.size()) {
      return {Kind::end, "the end", start};
    }
    if (is_name_start(text_[at_])) {
      take(is_name_part);
      return {Kind::name, text_.substr(start, at_ - start), start};
    }
    if (is_digit(text_[at_])) {
      return number(start);
    }
    constexpr std::array<std::string_view, 6> kTwo{"//", "**", "==", "!=", "<=", ">="};
    const std::string_view two = text_.substr(at_, 2);
    const bool pair = std::find(kTwo.begin(), kTwo.end(), two) != kTwo.end();
    at_ += pair ? 2 : 1;
    return {Kind::symbol, text_.substr(start, at_ - start), start};
  }

 private:
  template <class F>
  void take(F part) {
    while (at_ < text_.size() && part(text_[at_])) {
      ++at_;
    }
  }
  Token number(std::size_t start) {
    take(is_digit);
    Kind kind = Kind::number;
    if (at_ < text_.size() && text_[at_] == '.') {
      kind = Kind::real;
      ++at_;
      take(is_digit);
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      kind = Kind::real;
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) {
        ++at_;
      }
      take(is_digit);
    }
    return {kind, text_.substr(start, at_ - start), start};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<Op> infix_op(std::string_view text) {
  if (text == "/") {
    return Op::truediv;
  }
  for (std::size_t i = 0; i < kOpCount; ++i) {
    if (kOps[i].form == Form::infix && kOps[i].text == text) {
      return static_cast<Op>(i);
    }
  }
  return std::nullopt;
}
std::optional<Op> call_op(std::string_view text) {
  for (std::size_t i = 0; i < kOpCount; ++i) {
    if (kOps[i].form == Form::call && kOps[i].text == text) {
      return static_cast<Op>(i);
    }
  }
  return std::nullopt;
}

// The operator on reals of the same meaning.
std::optional<Op> real_op(Op op) {
  switch (op) {
    case Op::add:
      return Op::real_add;
    case Op::sub:
      return Op::real_sub;
    case Op::mul:
      return Op::real_mul;
    case Op::truediv:
      return Op::real_div;
    case Op::pow:
      return Op::real_pow;
    case Op::floordiv:
      return Op::real_floordiv;
    case Op::mod:
      return Op::real_mod;
    case Op::min:
      return Op::real_min;
    case Op::max:
      return Op::real_max;
    case Op::neg:
      return Op::real_neg;
    case Op::abs:
      return Op::real_abs;
    case Op::ite:
      return Op::real_ite;
    case Op::eq:
      return Op::real_eq;
    case Op::lt:
      return Op::real_lt;
    case Op::le:
      return Op::real_le;
    default:
      return std::nullopt;
  }
}

// The operator that takes a whole run of such ones at once: a + b - c is one sum. Two at a time,
// each sum on the way would be interned: n * n / 2 terms for n.
std::optional<Op> run_of(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
      return Op::add;
    case Op::mul:
    case Op::logical_and:
    case Op::logical_or:
      return op;
    default:
      return std::nullopt;
  }
}

class Parser {
 public:
  Parser(Context& context, std::string_view text, bool create)
      : context_(context), build_(context), text_(text), lexer_(text), create_(create) {}

  Expr run() {
    token_ = lexer_.next();
    bool operand = true;  // an operand is expected
    while (true) {
      if (operand) {
        operand = take_operand();
      } else if (token_.kind == Kind::end) {
        break;
      } else {
        operand = take_operator();
      }
    }
    reduce(0);
    if (!waiting_.empty()) {
      fail(text_, waiting_.back().column, "a parenthesis is not closed");
    }
    return operands_.back();
  }

 private:
  enum class Wait : std::uint8_t { prefix, infix, parenthesis, call };
  struct Waiting {
    Wait wait;
    Op op;
    int precedence;
    std::size_t column;
    std::size_t operands;  // of a call or parenthesis: their number before it
  };

  void advance() { token_ = lexer_.next(); }

  // True: another operand is expected (after a prefix or an opening parenthesis).
  bool take_operand() {
    const Token t = token_;
    advance();
    if (t.kind == Kind::number || t.kind == Kind::real) {
      operands_.push_back(number(t));
      return false;
    }
    if (t.kind == Kind::name) {
      return take_name(t);
    }
    if (t.text == "-" && t.kind == Kind::symbol) {
      waiting_.push_back({Wait::prefix, Op::neg, op_info(Op::neg).precedence, t.column, 0});
      return true;
    }
    if (t.text == "(" && t.kind == Kind::symbol) {
      waiting_.push_back({Wait::parenthesis, Op::add, 0, t.column, operands_.size()});
      return true;
    }
    fail(text_, t.column,
         "a number, a name or an opening parenthesis was expected, found \"" + std::string(t.text) +
             "\"");
  }

  bool take_name(const Token& t) {
    if (t.text == "not") {
      const int precedence = op_info(Op::logical_not).precedence;
      waiting_.push_back({Wait::prefix, Op::logical_not, precedence, t.column, 0});
      return true;
    }
    if (token_.kind == Kind::symbol && token_.text == "(") {
      const auto op = call_op(t.text);
      if (!op) {
        fail(text_, t.column, "there is no function \"" + std::string(t.text) + "\"");
      }
      advance();
      waiting_.push_back({Wait::call, *op, 0, t.column, operands_.size()});
      return true;
    }
    operands_.push_back(named(t));
    return false;
  }

  Expr named(const Token& t) {
    if (t.text == "True" || t.text == "False") {
      return build_.boolean(t.text == "True");
    }
    if (t.text == "nan" || t.text == "inf") {
      constexpr std::int64_t kInfBits = 0x7FF0000000000000;
      constexpr std::int64_t kNanBits = 0x7FF8000000000000;
      return context_.real_bits(t.text == "inf" ? kInfBits : kNanBits);
    }
    if (t.text == "and" || t.text == "or") {
      fail(text_, t.column, "an operand was expected before \"" + std::string(t.text) + "\"");
    }
    if (Expr found = context_.find_symbol(t.text)) {
      return found;
    }
    if (!create_) {
      fail(text_, t.column, "there is no symbol \"" + std::string(t.text) + "\"");
    }
    return context_.symbol(t.text);
  }

  Expr number(const Token& t) {
    if (t.kind == Kind::real) {
      const auto bits = parse_real(t.text);
      if (!bits) {
        fail(text_, t.column, "\"" + std::string(t.text) + "\" is no number");
      }
      return context_.real_bits(*bits);
    }
    // A minus before it is part of the number: of INT64_MIN the magnitude alone does not fit.
    const bool minus = !waiting_.empty() && waiting_.back().wait == Wait::prefix &&
                       waiting_.back().op == Op::neg && t.text == "9223372036854775808";
    std::int64_t value = 0;
    if (minus && token_.text != "**") {
      waiting_.pop_back();
      return build_.integer(std::numeric_limits<std::int64_t>::min());
    }
    const auto result = std::from_chars(t.text.data(), t.text.data() + t.text.size(), value);
    if (result.ec != std::errc{}) {
      fail(text_, t.column,
           "the number " + std::string(t.text.substr(0, 40)) + " does not fit in 64 bits");
    }
    return build_.integer(value);
  }

  bool take_operator() {
    const Token t = token_;
    advance();
    if (t.kind == Kind::symbol && (t.text == ")" || t.text == ",")) {
      return close(t);
    }
    const bool word = t.kind == Kind::name && (t.text == "and" || t.text == "or");
    const auto op = t.kind == Kind::symbol || word ? infix_op(t.text) : std::nullopt;
    if (!op) {
      fail(text_, t.column, "an operator was expected, found \"" + std::string(t.text) + "\"");
    }
    const int precedence =
        *op == Op::truediv ? op_info(Op::mul).precedence : op_info(*op).precedence;
    reduce(precedence + 1);
    // `**` takes from the right: it does not end one that waits. A run is worked off as one.
    if (*op != Op::pow && !continues_run(*op)) {
      reduce(precedence);
    }
    if (precedence == op_info(Op::eq).precedence && chained_) {
      fail(text_, t.column, "comparisons do not chain: write \"a < b and b < c\"");
    }
    waiting_.push_back({Wait::infix, *op, precedence, t.column, 0});
    return true;
  }

  bool close(const Token& t) {
    reduce(1);
    if (waiting_.empty()) {
      fail(text_, t.column, "\"" + std::string(t.text) + "\" without an opening parenthesis");
    }
    Waiting& open = waiting_.back();
    if (t.text == ",") {
      if (open.wait != Wait::call) {
        fail(text_, t.column, "a comma outside of a function's operands");
      }
      return true;
    }
    const Waiting call = open;
    waiting_.pop_back();
    if (call.wait == Wait::call) {
      std::vector<Expr> given(operands_.begin() + static_cast<std::ptrdiff_t>(call.operands),
                              operands_.end());
      operands_.resize(call.operands);
      operands_.push_back(applied(call.op, given, call.column));
    }
    chained_ = false;
    return false;
  }

  bool continues_run(Op op) const {
    return run_of(op) && !waiting_.empty() && waiting_.back().wait == Wait::infix &&
           run_of(waiting_.back().op) == run_of(op);
  }

  // Applies what waits and binds at least as tightly.
  void reduce(int precedence) {
    chained_ = false;
    while (!waiting_.empty() && waiting_.back().precedence >= std::max(precedence, 1)) {
      const Waiting last = waiting_.back();
      std::vector<Waiting> run;
      do {
        run.push_back(waiting_.back());
        waiting_.pop_back();
      } while (last.wait == Wait::infix && continues_run(last.op));
      std::reverse(run.begin(), run.end());
      const std::size_t count = last.wait == Wait::prefix ? 1 : run.size() + 1;
      std::vector<Expr> given(operands_.end() - static_cast<std::ptrdiff_t>(count),
                              operands_.end());
      operands_.resize(operands_.size() - count);
      operands_.push_back(run.size() == 1 ? applied(last.op, given, last.column)
                                          : applied_run(run, given));
      chained_ = last.wait == Wait::infix && last.precedence == op_info(Op::eq).precedence;
    }
  }

  // One sum, product or connective, unless a type does not fit: then from the left, as Python.
  Expr applied_run(const std::vector<Waiting>& run, std::vector<Expr> given) {
    const Op op = *run_of(run[0].op);
    if (std::all_of(given.begin(), given.end(),
                    [&](Expr e) { return e->type == op_info(op).operands; })) {
      for (std::size_t i = 0; i < run.size(); ++i) {
        if (run[i].op == Op::sub) {
          given[i + 1] = build_.neg(given[i + 1]);
        }
      }
      return applied(op, given, run[0].column);
    }
    Expr all = given[0];
    for (std::size_t i = 0; i < run.size(); ++i) {
      all = applied(run[i].op, {all, given[i + 1]}, run[i].column);
    }
    return all;
  }

  // Beside a real an integer becomes a real, as in Python.
  Expr applied(Op op, std::vector<Expr> given, std::size_t column) {
    const bool reals =
        std::any_of(given.begin(), given.end(), [](Expr e) { return e->type == Type::real; });
    try {
      if (const auto real = real_op(op); reals && real) {
        for (Expr& e : given) {
          e = e->type == Type::integer ? build_.apply(Op::to_real, std::span<const Expr>(&e, 1))
                                       : e;
        }
        op = *real;
      } else if (reals && (op == Op::gt || op == Op::ge || op == Op::ne)) {
        return mirrored(op, given);
      }
      return build_.apply(op, given);
    } catch (const SymError& error) {
      if (error.code() != ErrorCode::bad_argument) {
        throw;
      }
      fail(text_, column, error.what());
    }
  }

  Expr mirrored(Op op, std::vector<Expr> given) {
    for (Expr& e : given) {
      e = e->type == Type::integer ? build_.apply(Op::to_real, std::span<const Expr>(&e, 1)) : e;
    }
    if (op == Op::ne) {
      return build_.logical_not(build_.apply(Op::real_eq, given));
    }
    std::swap(given[0], given[1]);
    return build_.apply(op == Op::gt ? Op::real_lt : Op::real_le, given);
  }

  Context& context_;
  Builder build_;
  std::string_view text_;
  Lexer lexer_;
  Token token_;
  bool create_;
  bool chained_ = false;  // the operand just made is a bare comparison
  std::vector<Expr> operands_;
  std::vector<Waiting> waiting_;
};

}  // namespace

Expr parse(Context& context, std::string_view text, bool create) {
  return Parser(context, text, create).run();
}

}  // namespace massless::sym

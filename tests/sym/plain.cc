#include "sym/plain.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <stdexcept>
#include <vector>

namespace massless::sym {
namespace {

using Result = std::optional<Wide>;

// Recursive descent, a function for each level of precedence. For rows of tests: short texts.
class Reader {
 public:
  Reader(const std::string& text, const std::map<std::string, std::int64_t>& at)
      : text_(text), values_(at) {}

  Result whole() {
    const Result result = any();
    skip();
    return at_ == text_.size() ? result : unreadable();
  }

 private:
  [[noreturn]] Result unreadable() const {
    throw std::invalid_argument("\"" + text_ + "\" at " + std::to_string(at_));
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }
  static bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

  // The first of the tokens that comes next, the longer ones given first; "": none.
  std::string take(std::initializer_list<const char*> tokens) {
    skip();
    for (const std::string token : tokens) {
      const bool word = is_letter(token[0]);
      const std::size_t end = at_ + token.size();
      if (text_.compare(at_, token.size(), token) == 0 &&
          !(word && end < text_.size() && is_letter(text_[end]))) {
        at_ = end;
        return token;
      }
    }
    return "";
  }

  Result any() {
    Result left = all();
    while (!take({"or"}).empty()) {
      const Result right = all();
      left = left && right ? Result(*left != 0 || *right != 0) : std::nullopt;
    }
    return left;
  }
  Result all() {
    Result left = negation();
    while (!take({"and"}).empty()) {
      const Result right = negation();
      left = left && right ? Result(*left != 0 && *right != 0) : std::nullopt;
    }
    return left;
  }
  Result negation() {
    if (!take({"not"}).empty()) {
      const Result of = negation();
      return of ? Result(*of == 0) : of;
    }
    return comparison();
  }
  Result comparison() {
    const Result a = sum();
    const std::string op = take({"==", "!=", "<=", ">=", "<", ">"});
    if (op.empty()) {
      return a;
    }
    const Result b = sum();
    if (!a || !b) {
      return std::nullopt;
    }
    return op == "=="   ? *a == *b
           : op == "!=" ? *a != *b
           : op == "<=" ? *a <= *b
           : op == ">=" ? *a >= *b
           : op == "<"  ? *a < *b
                        : *a > *b;
  }
  Result sum() {
    Result left = product();
    for (std::string op; !(op = take({"+", "-"})).empty();) {
      const Result right = product();
      left = left && right ? Result(op == "+" ? *left + *right : *left - *right) : std::nullopt;
    }
    return left;
  }
  // The quotient that leaves a rest of the divisor's sign, found from the rest.
  static Wide rest_of(Wide a, Wide b) {
    Wide rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  static Result divided(const std::string& op, Wide a, Wide b) {
    if (b == 0) {
      return std::nullopt;
    }
    return op == "%" ? rest_of(a, b) : (a - rest_of(a, b)) / b;
  }
  Result product() {
    Result left = sign();
    for (std::string op; !(op = take({"//", "%", "*"})).empty();) {
      const Result right = sign();
      left = !left || !right ? std::nullopt
             : op == "*"     ? Result(*left * *right)
                             : divided(op, *left, *right);
    }
    return left;
  }
  Result sign() {
    if (!take({"-"}).empty()) {
      const Result of = sign();
      return of ? Result(-*of) : of;
    }
    return power();
  }
  Result power() {
    const Result base = atom();
    if (take({"**"}).empty()) {
      return base;
    }
    const Result exponent = sign();
    if (!base || !exponent) {
      return std::nullopt;
    }
    Wide result = 1;
    for (Wide i = 0; i < *exponent; ++i) {
      result *= *base;
    }
    return result;
  }
  Result atom() {
    if (!take({"("}).empty()) {
      const Result inside = any();
      return take({")"}).empty() ? unreadable() : inside;
    }
    std::string word;
    skip();
    while (at_ < text_.size() && is_letter(text_[at_])) {
      word += text_[at_++];
    }
    if (word.empty()) {
      return unreadable();
    }
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
      return std::stoll(word);
    }
    if (word == "True" || word == "False") {
      return word == "True";
    }
    if (!take({"("}).empty()) {
      return call(word);
    }
    const auto found = values_.find(word);
    return found == values_.end() ? unreadable() : Result(found->second);
  }
  Result call(const std::string& name) {
    std::vector<Wide> given;
    bool valued = true;
    do {
      const Result operand = any();
      valued = valued && operand.has_value();
      given.push_back(operand.value_or(0));
    } while (!take({","}).empty());
    if (take({")"}).empty()) {
      return unreadable();
    }
    if (!valued) {
      return std::nullopt;
    }
    if (name == "min" || name == "max") {
      const auto [least, most] = std::minmax_element(given.begin(), given.end());
      return name == "min" ? *least : *most;
    }
    if (name == "ite") {
      return given.at(0) != 0 ? given.at(1) : given.at(2);
    }
    if (name == "abs") {
      return given[0] < 0 ? -given[0] : given[0];
    }
    return name != "ceildiv"  ? unreadable()
           : given.at(1) == 0 ? std::nullopt
                              : Result((given[0] + rest_of(-given[0], given[1])) / given[1]);
  }

  const std::string& text_;
  const std::map<std::string, std::int64_t>& values_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Wide> plain_value(const std::string& text,
                                const std::map<std::string, std::int64_t>& at) {
  return Reader(text, at).whole();
}

}  // namespace massless::sym

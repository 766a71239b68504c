// Random expressions as plain trees with a value of their own: what the engine builds and answers
// is compared with these, which share no code with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sym/build.h"
#include "sym/random.h"

namespace massless::sym {

using Wide = __int128;

// The nodes of a forest, operands before what uses them. 128 bits, checked; an operand without a
// value leaves none, also where Python would not have needed it.
class Forest {
 public:
  struct Node {
    Op op;
    std::vector<int> operands;
    std::int64_t value = 0;  // of constants; of symbols their index
    bool is_truth = false;
  };
  using Values = std::vector<std::optional<Wide>>;  // by node

  int add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }
  int constant(std::int64_t value) { return add({Op::constant, {}, value, false}); }
  int symbol(std::int64_t index) { return add({Op::symbol, {}, index, false}); }

  const Node& operator[](int i) const { return nodes_[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(nodes_.size()); }

  Values evaluate(const std::vector<std::int64_t>& point) const;
  // Each node through the public builder; null: it raised, or an operand is null. `raised` says why
  // the last one did.
  std::vector<Expr> build(const Builder& builder, const std::vector<Expr>& symbols,
                          std::vector<ErrorCode>* raised = nullptr) const;
  std::string text(int root) const;  // for small trees; Python's syntax

  // Random trees of integers and truth values, `depth` operators deep.
  int random_integer(Random& random, int symbols, int depth, std::int64_t largest);
  int random_truth(Random& random, int symbols, int depth, std::int64_t largest);

 private:
  static std::optional<Wide> apply(Op op, const std::vector<Wide>& v);
  std::vector<Node> nodes_;
};

// Every point of a box, or `most` random ones of it.
std::vector<std::vector<std::int64_t>> points_of(Random& random, const std::vector<Range>& box,
                                                 std::size_t most);

std::string point_text(const std::vector<Range>& box, const std::vector<std::int64_t>& point);

}  // namespace massless::sym

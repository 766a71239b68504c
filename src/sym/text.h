// Printing and parsing: parse(context, print(e)) == e.
#pragma once

#include <string>
#include <string_view>

#include "sym/expr.h"

namespace massless::sym {

// One line, Python's own syntax and precedence where it has one: "b*s + 2*s", "(s + 1)//2",
// "min(a, b)", "seq >= 3", "not (a == b)" prints as "a != b". The order of terms and operands does
// not depend on the order of creation: by degree, then by name.
std::string print(Expr e, const Context& context);

// Reads what print writes, and what a user would write: operators of the table with Python's
// precedence (comparisons do not chain), functions of the table, integers, real numbers ("2.5"),
// True, False and names. Unknown names become symbols without range where `create`, else sym_parse.
// Beside a real an integer becomes one, as in Python: "2.5*s" is fmul(2.5, float(s)); "/" divides
// to a real. Raises sym_parse with the column and what was expected; never recurses.
Expr parse(Context& context, std::string_view text, bool create = true);

}  // namespace massless::sym

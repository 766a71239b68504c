// The one table of error codes and texts (no torch header here: `sym` and `guard` use it as well).
#pragma once

#include <string>
#include <string_view>

namespace massless {

// A user's mistake, something that Massless does not do, or a fault of Massless itself.
enum class ErrorKind { user, unsupported, internal };

// MASSLESS_ERRORS(X): X(code, kind, python class, what was needed, what to do)
#define MASSLESS_ERRORS(X)                                                                         \
  X(data_dependent, user, "DataDependentError",                                                    \
    "the value of a fake tensor, which nobody computed",                                           \
    "make the value known (a literal inside the mode, or a plan's small integer input), pass it "  \
    "as a Python number, or read it from a real tensor outside of the mode")                       \
  X(data_access, user, "DataDependentError", "the bytes of a fake tensor, which has none",         \
    "make the tensor real first, or use massless.meta_like for its metadata")                      \
  X(real_write, user, "MasslessError",                                                             \
    "a fake tensor to write into: nothing real is ever changed from a fake mode",                  \
    "pass massless.fake_like(tensor) instead, or use massless.plan, which makes fake twins")       \
  X(device_mismatch, user, "MasslessError", "all tensors on one device",                           \
    "move the tensors to one device with .to()")                                                   \
  X(unsupported_operator, unsupported, "UnsupportedOperatorError",                                 \
    "a rule, a composite kernel or a meta kernel for this operator",                               \
    "add a rule (docs/add-a-rule.md) or torch.library.register_fake for a custom operator")        \
  X(unsupported_value, unsupported, "UnsupportedOperatorError",                                    \
    "an argument of a kind that fakes can hold",                                                   \
    "convert the argument to a strided tensor, or report the case")                                \
  X(accelerator_too_late, user, "MasslessError",                                                   \
    "massless to be loaded before torch asked for its CUDA hooks",                                 \
    "import massless before torch (the command line does)")                                        \
  X(sym_overflow, user, "MasslessError", "a size that fits in 64 bits",                            \
    "make the sizes smaller, or give their symbols smaller ranges")                                \
  X(division_by_zero, user, "MasslessError", "a divisor other than zero",                          \
    "rule the zero out with the symbol's range (Dim(min=1)) or with torch._check")                 \
  X(sym_parse, user, "MasslessError", "an expression in the syntax of docs/symbols.md",            \
    "correct the text at the column given")                                                        \
  X(foreign_symbol, user, "MasslessError", "symbols of one ShapeEnv",                              \
    "use one ShapeEnv for all sizes that meet")                                                    \
  X(contradiction, user, "MasslessError", "facts about sizes that can hold together",              \
    "correct the ranges or the example so that they agree")                                        \
  X(specialization, user, "SpecializationError", "a size that stays dynamic",                      \
    "pass the name as a plain string, which may be specialised, state the relation between the "   \
    "sizes (one name for both, or Dim arithmetic), or change the line that asks")                  \
  X(guard_failed, user, "GuardError", "sizes for which the guards hold",                           \
    "ask for sizes within the guards, or run again at these sizes")                                \
  X(unbacked, user, "DataDependentError", "the value of a size that no example gives",             \
    "state what is true of it with torch._check, or give it a range")                              \
  X(sym_unsupported, unsupported, "UnsupportedOperatorError", "an operation that symbols have",    \
    "convert the size with int() first, which specialises it")                                     \
  X(bad_argument, user, "MasslessError", "a valid argument", "correct the argument and try again") \
  X(internal, internal, "MasslessError", "an invariant of Massless to hold",                       \
    "this is a fault of Massless: please report it with the text of this message")

enum class ErrorCode {
#define MASSLESS_ERROR_CODE(code, kind, python_class, needed, advice) code,
  MASSLESS_ERRORS(MASSLESS_ERROR_CODE)
#undef MASSLESS_ERROR_CODE
};

struct ErrorInfo {
  std::string_view name;
  ErrorKind kind;
  std::string_view python_class;
  std::string_view needed;
  std::string_view advice;
};

const ErrorInfo& error_info(ErrorCode code) noexcept;

// Number of codes, for tests that walk the table.
int error_count() noexcept;

// The whole text: "[code] operator: found. Needed: ... What to do: ... (at location)".
// `operator_name` and `location` may be empty.
std::string error_text(ErrorCode code, std::string_view operator_name, std::string_view found,
                       std::string_view location);

}  // namespace massless

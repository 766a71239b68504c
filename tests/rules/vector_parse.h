// The grammar of src/rules/*.vec: one operator call a line, as in
//     add.Tensor(f32[2,3], f32[3], alpha=1)
// A tensor is a dtype and its sizes, then, each optional and in this order, strides (as many as
// sizes), storage offset, values in logical order and device: f32[2,3]:1,2+4=[1,2,3,4,5,6]@cuda.
// Without values integers are 0, bools alternate and floats are small fixed numbers. A number for
// a tensor is a wrapped number; a tensor for a storage is its storage. Then lists, None, true,
// false, numbers (2j is imaginary), "text", and the names of dtypes, devices, layouts and memory
// formats; `name=` before an argument. After the call: the marks below. `#` starts a comment.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace massless::vectors {

// A line that does not follow the grammar or does not fit its operator's schema.
struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The suffixes of a line, after the closing parenthesis.
struct Marks {
  bool error = false;      // " -> error": the call must raise, real and fake
  bool cpu_only = false;   // " -> cpu only": not run on fake cuda
  bool cuda_only = false;  // " -> cuda only": there is no CPU kernel; only the rung and device
  bool ladder = false;     // " ~ladder": a rung below the rules may answer
  bool known = false;      // " ~known": the fakes know the values of their tensors
};

struct Line {
  std::string where;          // "view.vec:12"
  std::string text;           // as written, without the comment
  std::string operator_name;  // "aten::add.Tensor"
  Marks marks;
};

// A parsed call. Tensors are real and on the CPU; numbers for tensors are wrapped numbers.
struct Call {
  c10::OperatorHandle op;
  torch::jit::Stack arguments;
  Marks marks;
  std::vector<at::Tensor> on_cuda;      // those written with @cuda (their fakes are on cuda)
  bool mentions_cuda = false;           // @cuda or a device argument
  std::vector<at::Tensor> with_values;  // those whose values are written
};

// As many elements as a tensor without values has.
at::Tensor filled(std::int64_t numel, c10::ScalarType dtype);
// A tensor over exactly such a vector, and no view for autograd.
at::Tensor strided_over(const at::Tensor& elements, c10::IntArrayRef sizes,
                        c10::IntArrayRef strides, std::int64_t offset);

// Splits a file's text into its lines. Raises ParseError for a line with a bad name or suffix.
std::vector<Line> split_lines(std::string_view text, const std::string& file);
// All lines of the .vec files of a folder, ordered by file; `path` may also be one file.
std::vector<Line> read_lines(const std::string& path);

// Makes the real arguments of a line. Raises ParseError.
Call parse_call(const Line& line);

}  // namespace massless::vectors

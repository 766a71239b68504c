#include "rules/vector_parse.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

namespace massless::vectors {
namespace {

using c10::IValue;
using c10::TypeKind;

constexpr std::array<std::pair<std::string_view, c10::ScalarType>, 16> kDtypes = {{
    {"u64", c10::kUInt64},
    {"u32", c10::kUInt32},
    {"u16", c10::kUInt16},
    {"f64", c10::kDouble},
    {"f32", c10::kFloat},
    {"f16", c10::kHalf},
    {"bf16", c10::kBFloat16},
    {"c64", c10::kComplexFloat},
    {"c128", c10::kComplexDouble},
    {"i64", c10::kLong},
    {"i32", c10::kInt},
    {"i16", c10::kShort},
    {"i8", c10::kChar},
    {"u8", c10::kByte},
    {"bool", c10::kBool},
    {"c32", c10::kComplexHalf},
}};

std::optional<c10::ScalarType> find_dtype(std::string_view name) {
  for (const auto& [text, dtype] : kDtypes) {
    if (text == name) {
      return dtype;
    }
  }
  return std::nullopt;
}

// What one argument looks like before the schema says what it is.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool done() {
    skip_spaces();
    return at_ >= text_.size();
  }
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) {
      return false;
    }
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_spaces();
    if (text_.substr(at_, word.size()) != word) {
      return false;
    }
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && is_word(text_[end])) {
      return false;
    }
    at_ = end;
    return true;
  }
  void expect(char c) {
    if (!take(c)) {
      fail(std::string("expected '") + c + "'");
    }
  }
  std::string word() {
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) {
      ++at_;
    }
    return std::string(text_.substr(start, at_ - start));
  }
  // `name=` of a keyword argument; empty (and nothing taken) where there is none.
  std::string keyword() {
    const std::size_t start = at_;
    std::string name = word();
    if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 && take('=')) {
      return name;
    }
    at_ = start;
    return {};
  }
  std::string number_text() {
    skip_spaces();
    const std::size_t start = at_;
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) {
      ++at_;
    }
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.' || is_exponent_sign())) {
      ++at_;
    }
    return std::string(text_.substr(start, at_ - start));
  }
  std::string quoted() {
    const char quote = peek();
    ++at_;
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) {
      fail("a string without its end");
    }
    std::string found(text_.substr(at_, end - at_));
    at_ = end + 1;
    return found;
  }
  std::size_t position() const { return at_; }
  void back_to(std::size_t position) { at_ = position; }
  [[noreturn]] void fail(const std::string& why) const {
    throw ParseError(why + " at '" + std::string(text_.substr(std::min(at_, text_.size()), 30)) +
                     "'");
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  // The sign inside 1e-08: only after a digit and an e, so that a name such as `-inf` is one word.
  bool is_exponent_sign() const {
    return (text_[at_] == '-' || text_[at_] == '+') && at_ >= 2 && text_[at_ - 1] == 'e' &&
           (std::isdigit(static_cast<unsigned char>(text_[at_ - 2])) != 0 || text_[at_ - 2] == '.');
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

c10::Scalar scalar_of(Reader& in) {
  if (in.take_word("true")) {
    return true;
  }
  if (in.take_word("false")) {
    return false;
  }
  const std::string text = in.number_text();
  if (text.empty()) {
    in.fail("expected a number");
  }
  try {
    std::size_t used = 0;
    if (text.find_first_of(".enj") == std::string::npos) {
      const long long value = std::stoll(text, &used);
      if (used == text.size()) {
        return static_cast<std::int64_t>(value);
      }
    } else {
      const double value = std::stod(text, &used);
      if (used == text.size()) {
        return value;
      }
      if (used + 1 == text.size() && text.back() == 'j') {
        return c10::complex<double>(0, value);
      }
    }
  } catch (const std::exception&) {
    in.fail("'" + text + "' is no number");
  }
  in.fail("'" + text + "' is no number");
}

std::int64_t integer_of(Reader& in) {
  const c10::Scalar value = scalar_of(in);
  if (!value.isIntegral(/*includeBool=*/false)) {
    in.fail("expected an integer");
  }
  return value.toLong();
}

template <class F>
void list_of(Reader& in, F&& item) {
  in.expect('[');
  if (in.take(']')) {
    return;
  }
  do {
    item();
  } while (in.take(','));
  in.expect(']');
}

struct Geometry {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
};

Geometry geometry_of(Reader& in) {
  Geometry g;
  list_of(in, [&] { g.sizes.push_back(integer_of(in)); });
  std::int64_t step = 1;
  g.strides.resize(g.sizes.size());
  for (std::size_t i = g.sizes.size(); i-- > 0;) {
    if (g.sizes[i] < 0) {
      in.fail("a negative size");
    }
    g.strides[i] = step;
    step *= std::max<std::int64_t>(g.sizes[i], 1);
  }
  // As many strides as sizes: the comma after the last one belongs to the list around.
  if (!g.sizes.empty() && in.take(':')) {
    for (std::size_t i = 0; i < g.sizes.size(); ++i) {
      if (i > 0) {
        in.expect(',');
      }
      g.strides[i] = integer_of(in);
      if (g.strides[i] < 0) {
        in.fail("a negative stride");
      }
    }
  }
  if (in.take('+')) {
    g.offset = integer_of(in);
  }
  return g;
}

// A storage that just holds the geometry, as an operator's own output has.
at::Tensor tensor_of(const Geometry& g, c10::ScalarType dtype) {
  std::int64_t extent = g.offset + 1;
  for (std::size_t i = 0; i < g.sizes.size(); ++i) {
    if (g.sizes[i] == 0) {
      extent = 0;
      break;
    }
    extent += g.strides[i] * (g.sizes[i] - 1);
  }
  return strided_over(filled(extent, dtype), g.sizes, g.strides, g.offset);
}

class CallReader {
 public:
  CallReader(Reader& in, Call& call) : in_(in), call_(call) {}

  IValue value(const c10::TypePtr& type, std::optional<int> count) {
    switch (type->kind()) {
      case TypeKind::OptionalType:
        if (in_.take_word("None")) {
          return {};
        }
        return value(type->castRaw<c10::OptionalType>()->getElementType(), count);
      case TypeKind::TensorType:
        return tensor();
      case TypeKind::StorageType:
        return tensor().storage();
      case TypeKind::ListType:
        return list(type->castRaw<c10::ListType>()->getElementType(), count);
      case TypeKind::NumberType:
        return scalar_of(in_);
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        return integer_of(in_);
      case TypeKind::FloatType:
        return scalar_of(in_).toDouble();
      case TypeKind::BoolType:
        return boolean();
      case TypeKind::StringType:
        return text();
      default:
        return named(*type);
    }
  }

 private:
  bool boolean() {
    if (in_.take_word("true")) {
      return true;
    }
    if (!in_.take_word("false")) {
      in_.fail("expected true or false");
    }
    return false;
  }

  std::string text() { return in_.peek() == '"' || in_.peek() == '\'' ? in_.quoted() : in_.word(); }

  at::Tensor tensor() {
    const std::size_t start = in_.position();
    const auto dtype = find_dtype(in_.word());
    if (!dtype || in_.peek() != '[') {
      in_.back_to(start);
      if (in_.take_word("None")) {
        return {};
      }
      // As Python's binding makes it.
      at::Tensor number = c10::scalar_to_tensor(scalar_of(in_));
      number.unsafeGetTensorImpl()->set_wrapped_number(true);
      return number;
    }
    at::Tensor made = tensor_of(geometry_of(in_), *dtype);
    if (in_.take('=')) {
      call_.with_values.push_back(made);
      fill(made);
    }
    if (in_.take('@')) {
      const std::string device = in_.word();
      if (device != "cuda" && device != "cpu") {
        in_.fail("the device '" + device + "' is not known here");
      }
      if (device == "cuda") {
        call_.on_cuda.push_back(made);
        call_.mentions_cuda = true;
      }
    }
    return made;
  }

  void fill(const at::Tensor& made) {
    std::vector<c10::Scalar> values;
    list_of(in_, [&] { values.push_back(scalar_of(in_)); });
    if (static_cast<std::int64_t>(values.size()) != made.numel()) {
      in_.fail("as many values as elements are needed, " + std::to_string(made.numel()));
    }
    std::vector<std::int64_t> index(static_cast<std::size_t>(made.dim()), 0);
    for (const c10::Scalar& value : values) {
      std::int64_t offset = made.storage_offset();
      for (std::size_t i = 0; i < index.size(); ++i) {
        offset += index[i] * made.strides()[i];
      }
      made.as_strided({}, {}, offset).fill_(value);
      for (std::size_t i = index.size(); i-- > 0;) {
        if (++index[i] < made.sizes()[i]) {
          break;
        }
        index[i] = 0;
      }
    }
  }

  IValue list(const c10::TypePtr& element, std::optional<int> count) {
    if (in_.peek() != '[') {  // `int[2] kernel_size` may be one number
      if (!count || *count == 0) {
        in_.fail("expected a list");
      }
      const IValue one = value(element, std::nullopt);
      return typed_list(element, std::vector<IValue>(static_cast<std::size_t>(*count), one));
    }
    std::vector<IValue> items;
    list_of(in_, [&] { items.push_back(value(element, std::nullopt)); });
    return typed_list(element, items);
  }

  static IValue typed_list(const c10::TypePtr& element, const std::vector<IValue>& items) {
    // SymInt[] is given as int[]: the boundary of unboxed kernels takes either.
    c10::TypePtr type =
        element->kind() == TypeKind::SymIntType ? c10::TypePtr(c10::IntType::get()) : element;
    c10::impl::GenericList made(type);
    for (const IValue& item : items) {
      made.push_back(item);
    }
    switch (type->kind()) {
      case TypeKind::IntType:
        return c10::impl::toTypedList<std::int64_t>(std::move(made));
      case TypeKind::FloatType:
        return c10::impl::toTypedList<double>(std::move(made));
      case TypeKind::BoolType:
        return c10::impl::toTypedList<bool>(std::move(made));
      case TypeKind::TensorType:
        return c10::impl::toTypedList<at::Tensor>(std::move(made));
      default:
        return made;
    }
  }

  IValue named(const c10::Type& type) {
    const std::size_t start = in_.position();
    const std::string name = in_.word();
    if (type.kind() == TypeKind::ScalarTypeType) {
      if (const auto dtype = find_dtype(name)) {
        return *dtype;
      }
    } else if (type.kind() == TypeKind::LayoutType && name == "strided") {
      return c10::kStrided;
    } else if (type.kind() == TypeKind::LayoutType && name == "sparse_coo") {
      return c10::kSparse;
    } else if (type.kind() == TypeKind::MemoryFormatType) {
      constexpr std::array<std::pair<std::string_view, c10::MemoryFormat>, 4> kFormats = {
          {{"contiguous_format", c10::MemoryFormat::Contiguous},
           {"preserve_format", c10::MemoryFormat::Preserve},
           {"channels_last", c10::MemoryFormat::ChannelsLast},
           {"channels_last_3d", c10::MemoryFormat::ChannelsLast3d}}};
      for (const auto& [text, format] : kFormats) {
        if (text == name) {
          return format;
        }
      }
    } else if (type.kind() == TypeKind::DeviceObjType && (name == "cpu" || name == "cuda")) {
      call_.mentions_cuda = call_.mentions_cuda || name == "cuda";
      return c10::Device(name == "cpu" ? c10::kCPU : c10::kCUDA);
    }
    in_.back_to(start);
    in_.fail("no value of type " + type.str());
  }

  Reader& in_;
  Call& call_;
};

c10::OperatorHandle operator_of(const std::string& qualified_name) {
  const std::size_t dot = qualified_name.find('.');
  const auto op = c10::Dispatcher::singleton().findSchema(
      {qualified_name.substr(0, dot),
       dot == std::string::npos ? std::string() : qualified_name.substr(dot + 1)});
  if (!op) {
    throw ParseError("there is no operator " + qualified_name);
  }
  return *op;
}

// Takes `suffix` off the end of `text`, if it stands there.
bool take_suffix(std::string& text, std::string_view suffix) {
  while (!text.empty() && text.back() == ' ') {
    text.pop_back();
  }
  if (text.size() < suffix.size() ||
      text.compare(text.size() - suffix.size(), suffix.size(), suffix) != 0) {
    return false;
  }
  text.erase(text.size() - suffix.size());
  return true;
}

// The call without its suffixes.
std::string split_marks(std::string text, Marks& marks) {
  bool any = true;
  while (any) {
    any = false;
    const std::array<std::pair<std::string_view, bool*>, 5> suffixes = {
        {{" -> error", &marks.error},
         {" -> cpu only", &marks.cpu_only},
         {" -> cuda only", &marks.cuda_only},
         {" ~ladder", &marks.ladder},
         {" ~known", &marks.known}}};
    for (const auto& [suffix, mark] : suffixes) {
      if (take_suffix(text, suffix)) {
        *mark = true;
        any = true;
      }
    }
  }
  return text;
}

// A `#` inside a string is none.
std::string without_comment(const std::string& text) {
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != '\0') {
      quote = text[i] == quote ? '\0' : quote;
    } else if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
    } else if (text[i] == '#') {
      return text.substr(0, i);
    }
  }
  return text;
}

std::string trimmed(std::string text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  text.erase(std::find_if_not(text.rbegin(), text.rend(), is_space).base(), text.end());
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
  return text;
}

Line line_of(std::string text, std::string where) {
  Line line{std::move(where), std::move(text), {}, {}};
  const std::string call = split_marks(line.text, line.marks);
  const std::size_t open = call.find('(');
  if (open == std::string::npos || open == 0 || call.back() != ')') {
    throw ParseError(line.where + ": expected 'operator.overload(arguments)', got: " + line.text);
  }
  line.operator_name = call.substr(0, open);
  if (line.operator_name.find("::") == std::string::npos) {
    line.operator_name = "aten::" + line.operator_name;
  }
  return line;
}

}  // namespace

// Integers are 0 (valid as indices), bools alternate, floats are small and positive.
at::Tensor filled(std::int64_t numel, c10::ScalarType dtype) {
  std::vector<double> values(static_cast<std::size_t>(numel), 0.0);
  const bool floating = c10::isFloatingType(dtype) || c10::isComplexType(dtype);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == c10::kBool) {
      values[i] = i % 2 == 0 ? 1.0 : 0.0;
    } else if (floating) {
      values[i] = 0.25 + 0.125 * static_cast<double>(i % 5);
    }
  }
  return at::tensor(values, at::TensorOptions(c10::kDouble)).to(dtype);
}

at::Tensor strided_over(const at::Tensor& elements, c10::IntArrayRef sizes,
                        c10::IntArrayRef strides, std::int64_t offset) {
  const at::AutoDispatchBelowADInplaceOrView no_view;
  return elements.as_strided(sizes, strides, offset);
}

std::vector<Line> split_lines(std::string_view text, const std::string& file) {
  std::vector<Line> lines;
  std::istringstream in{std::string(text)};
  std::string raw;
  for (int number = 1; std::getline(in, raw); ++number) {
    std::string line = trimmed(without_comment(raw));
    if (!line.empty()) {
      lines.push_back(line_of(std::move(line), file + ":" + std::to_string(number)));
    }
  }
  return lines;
}

std::vector<Line> read_lines(const std::string& path) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".vec") {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
  } else {
    files.emplace_back(path);
  }
  std::vector<Line> lines;
  for (const auto& file : files) {
    std::ifstream in(file);
    if (!in) {
      throw ParseError("cannot read " + file.string());
    }
    std::stringstream text;
    text << in.rdbuf();
    for (Line& line : split_lines(text.str(), file.filename().string())) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

Call parse_call(const Line& line) {
  Call call{operator_of(line.operator_name), {}, {}, {}, false, {}};
  const std::string text = split_marks(line.text, call.marks);
  Reader in(std::string_view(text).substr(text.find('(')));
  CallReader values(in, call);
  const auto& formal = call.op.schema().arguments();
  std::vector<std::optional<IValue>> given(formal.size());
  const auto index_of = [&](const std::string& name) {
    for (std::size_t i = 0; i < formal.size(); ++i) {
      if (formal[i].name() == name) {
        return i;
      }
    }
    in.fail("no argument '" + name + "' in " + c10::str(call.op.schema()));
  };
  in.expect('(');
  std::size_t position = 0;
  bool keywords = false;
  while (!in.take(')')) {
    if (position > 0 || keywords) {
      in.expect(',');
    }
    const std::string name = in.keyword();
    keywords = keywords || !name.empty();
    if (keywords && name.empty()) {
      in.fail("a positional argument after a keyword argument");
    }
    const std::size_t i = name.empty() ? position++ : index_of(name);
    if (i >= formal.size() || given[i]) {
      in.fail(i >= formal.size() ? "too many arguments" : "argument '" + name + "' given twice");
    }
    given[i] = values.value(formal[i].real_type(), formal[i].N());
  }
  if (!in.done()) {
    in.fail("nothing more was expected");
  }
  for (std::size_t i = 0; i < formal.size(); ++i) {
    if (!given[i] && !formal[i].default_value()) {
      throw ParseError("argument '" + formal[i].name() + "' is missing");
    }
    call.arguments.push_back(given[i] ? *given[i] : *formal[i].default_value());
  }
  return call;
}

}  // namespace massless::vectors

// Factories: tensors that are made from sizes and numbers.
#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include "fake/device.h"
#include "fake/rule.h"

namespace massless {
namespace {

TensorSpec empty_spec(c10::SymIntArrayRef size, std::optional<c10::ScalarType> dtype,
                      std::optional<c10::Layout>, std::optional<c10::Device> device,
                      std::optional<bool>, std::optional<c10::MemoryFormat> format) {
  TensorSpec spec{SymDimVector(size.begin(), size.end()),
                  strides_of_format(size, format.value_or(c10::MemoryFormat::Contiguous)),
                  c10::dtype_or_default(dtype), factory_device(device)};
  return spec;
}

MASSLESS_RULES(m) { rule<"empty.memory_format", functional<empty_spec>>(m); }

}  // namespace
}  // namespace massless

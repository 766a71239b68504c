// Plans a two-layer forward without Python: its peak, and why a 4 TiB matrix is no problem.
#include <ATen/ATen.h>
#include <massless/massless.h>

#include <iostream>

int main() {
  {
    const massless::FakeMode mode;
    const at::Tensor x = at::empty({1 << 20, 1 << 20});
    const at::Tensor y = at::mm(x, x.t());
    std::cout << "sizes " << y.sizes() << ", fake " << massless::is_fake(y) << '\n';
  }
  const auto forward = [](const std::vector<at::Tensor>& in) {
    return std::vector<at::Tensor>{at::mm(at::relu(at::mm(in[0], in[1])), in[2])};
  };
  const std::vector<at::Tensor> inputs = {at::zeros({8, 16}), at::zeros({16, 32}),
                                          at::zeros({32, 4})};
  const massless::Plan plan = massless::plan(forward, inputs);
  std::cout << "peak " << plan.peak() << " bytes, " << plan.flops.forward << " flops\n";
  return 0;
}

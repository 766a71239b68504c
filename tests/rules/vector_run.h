// Runs a vector with real CPU tensors and with fakes and says in what they differ.
#pragma once

#include <string>
#include <vector>

#include "rules/vector_parse.h"

namespace massless::vectors {

// Each entry one difference, ready to be read; empty: none.
// Fakes on the device of their tensors (the CPU): all metadata is compared.
std::vector<std::string> compare_on_cpu(const Line& line);
// Fakes on cuda: what is made must be on cuda:0.
std::vector<std::string> compare_on_cuda(const Line& line);
// All fakes' values are known: the results that are known must be equal to the real ones.
std::vector<std::string> compare_known(const Line& line);

}  // namespace massless::vectors

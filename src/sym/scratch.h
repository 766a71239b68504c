// Room for a known number of items at most, on the stack where they are few: most expressions are
// small, and memory for their terms costs more than the terms.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace massless::sym {

template <class T, std::size_t few = 8>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit Scratch(std::size_t most)
      : many_(most > few ? std::make_unique_for_overwrite<T[]>(most) : nullptr),
        data_(most > few ? many_.get() : few_.items.data()) {}
  Scratch(const Scratch&) = delete;  // `data_` may be of `few_`
  Scratch& operator=(const Scratch&) = delete;

  void push_back(const T& item) { data_[size_++] = item; }
  void append(std::span<const T> items) {
    for (const T& item : items) {
      push_back(item);
    }
  }
  void resize(std::size_t fewer) { size_ = fewer; }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {data_, size_}; }
  T& operator[](std::size_t i) { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }

 private:
  union Few {
    Few() {}  // NOLINT(modernize-use-equals-default): not set until it is used
    std::array<T, few> items;
  };
  Few few_;
  std::unique_ptr<T[]> many_;
  T* data_;
  std::size_t size_ = 0;
};

}  // namespace massless::sym

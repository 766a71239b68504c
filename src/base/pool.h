// Memory of the few objects that every fake, and every symbolic size, is made of. Each thread keeps
// some freed blocks of each class and hands them out again, which costs a quarter of malloc and
// free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace massless {

// Base of a final class that is allocated one at a time:
//     struct Token final : Pooled<Token> { ... };
// A block may be freed on another thread than the one that made it: it then stays there.
template <class T>
class Pooled {
 public:
  static void* operator new(std::size_t size) {
    Block* block = kept.first;
    if (!enabled || block == nullptr) {
      return ::operator new(size);
    }
    kept.first = block->next;
    --kept.count;
    return block;
  }

  static void operator delete(void* memory) noexcept {
    static_assert(sizeof(T) >= sizeof(Block));
    if (!enabled || kept.count >= kept.limit) {
      keep_or_free(memory);
      return;
    }
    keep(memory);
  }

 private:
  struct Block {
    Block* next;
  };
  // Without constructor and destructor, so that it may be used before and after all thread_local
  // objects that have one.
  struct Kept {
    Block* first;
    std::uint32_t count;
    std::uint32_t limit;  // 0: the thread has not begun to keep blocks, or it ends
    bool ended;
  };
  // Frees the thread's blocks when it ends.
  struct End {
    ~End() {
      kept.ended = true;
      kept.limit = 0;
      while (kept.first != nullptr) {
        Block* block = kept.first;
        kept.first = block->next;
        ::operator delete(block);
      }
      kept.count = 0;
    }
  };

  static void keep(void* memory) noexcept {
    kept.first = new (memory) Block{kept.first};
    ++kept.count;
  }
  static void keep_or_free(void* memory) noexcept {
    if (!enabled || kept.limit != 0 || kept.ended) {
      ::operator delete(memory);
      return;
    }
    static thread_local const End end;
    static_cast<void>(&end);
    kept.limit = kMost;
    keep(memory);
  }

  static constexpr std::uint32_t kMost = 256;
// A sanitizer sees what is used after it was freed only if it is freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool enabled = false;
#else
  static constexpr bool enabled = true;
#endif
  static inline constinit thread_local Kept kept{};
};

}  // namespace massless

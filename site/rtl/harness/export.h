// Functions that a page calls, and the model's output ports as one array of 32-bit words.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "Vtop.h"
#include "observed.h"
#include "verilated.h"

#define EXPORTED(name) extern "C" __attribute__((export_name(#name)))

namespace openwmma {

// OBSERVED(X), from the generated observed.h, is X(port, words) for every port that is shown.
#define OPENWMMA_WORDS(port, words) +words
constexpr std::uint32_t OBSERVED_WORDS = 0 OBSERVED(OPENWMMA_WORDS);
#undef OPENWMMA_WORDS

template <typename Port> void copy_port(std::uint32_t *target, const Port &port) {
    static_assert(std::is_trivially_copyable_v<Port>);
    std::memcpy(target, &port, sizeof port);
}

// Writes every port, low words first; words beyond a narrow port stay as they are, zero.
inline void observe(const Vtop &top, std::uint32_t *target) {
#define OPENWMMA_COPY(port, words) \
    copy_port(target, top.port);   \
    target += words;
    OBSERVED(OPENWMMA_COPY)
#undef OPENWMMA_COPY
}

}  // namespace openwmma

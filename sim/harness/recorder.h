// Records every change of the signals that traces are made of. They are listed in probes.h, which
// sim/trace/probes.py writes.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "Vopenwmma_core.h"
#include "Vopenwmma_core___024root.h"
#include "probes.h"

namespace openwmma {

// Plain data, read by Python.
struct Change {
    std::uint64_t cycle;
    std::uint64_t value;
    std::uint32_t probe;
    std::uint32_t unused;
};

// Bits of a signal as Verilator keeps it: in an integer, or in an array of 32-bit words.
template <typename Signal> std::uint64_t bits_of(const Signal &signal, unsigned first, unsigned width) {
    const std::uint64_t mask = width < 64 ? (std::uint64_t(1) << width) - 1 : ~std::uint64_t(0);
    if constexpr (std::is_integral_v<Signal>) {
        return std::uint64_t(signal) >> first & mask;
    } else {
        std::uint64_t value = 0;
        const unsigned words = sizeof signal / sizeof signal[0];
        for (unsigned word = first / 32, at = 0; word < words && at < 64 + first % 32; ++word, at += 32) {
            const std::uint64_t part = signal[word];
            if (at < first % 32) value |= part >> (first % 32);
            else value |= part << (at - first % 32);
        }
        return value & mask;
    }
}

class Recorder {
  public:
    // What the signals are in a cycle, before its end.
    void sample([[maybe_unused]] const Vopenwmma_core &top, [[maybe_unused]] std::uint64_t cycle) {
#if OPENWMMA_PROBE_COUNT
        const auto &root = *top.rootp;
        std::uint32_t probe = 0;
#define OPENWMMA_SAMPLE(signal, first, width) note(probe++, bits_of(root.signal, first, width), cycle);
        OPENWMMA_PROBES(OPENWMMA_SAMPLE)
#undef OPENWMMA_SAMPLE
        begun_ = true;
#endif
    }

    const std::vector<Change> &changes() const { return changes_; }

  private:
    void note(std::uint32_t probe, std::uint64_t value, std::uint64_t cycle) {
        if (begun_ && last_[probe] == value) return;
        last_[probe] = value;
        changes_.push_back({cycle, value, probe, 0});
    }

    bool begun_ = false;
    std::uint64_t last_[OPENWMMA_PROBE_COUNT + 1] = {};
    std::vector<Change> changes_;
};

}  // namespace openwmma

// What all simulations of a library have counted, those that have ended: Verilator's coverage.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <mutex>
#include <vector>

#include "Vopenwmma_core.h"
#include "Vopenwmma_core__Syms.h"
#include "verilated_cov.h"

namespace openwmma {

class Counts {
  public:
    void add(const Vopenwmma_core &top) {
        const auto &counts = top.rootp->vlSymsp->__Vcoverage;
        const std::lock_guard<std::mutex> lock(mutex_);
        totals_.resize(std::size(counts));
        std::transform(totals_.begin(), totals_.end(), std::begin(counts), totals_.begin(), std::plus<>());
    }

    // Through a core that does nothing, since only Verilator knows what each counter is of.
    void write(const char *path) {
        VerilatedContext context;
        Vopenwmma_core top(&context);
        const std::lock_guard<std::mutex> lock(mutex_);
        std::copy(totals_.begin(), totals_.end(), std::begin(top.rootp->vlSymsp->__Vcoverage));
        context.coveragep()->write(path);
    }

  private:
    std::mutex mutex_;
    std::vector<std::uint32_t> totals_;
};

inline Counts all_counts;

}  // namespace openwmma

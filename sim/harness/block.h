// A module that is simulated by itself: one Verilated model for each instance, called once a cycle by the core's.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "svdpi.h"
#include "verilated.h"

namespace openwmma {

// `Model` has a clock and all other ports packed into `inputs` and `outputs`; `Root` is its state. What it puts out
// follows from its registers alone, so one call a cycle is enough.
//
// A block whose inputs stay the same comes to rest when nothing is on its way in it any more: an edge then changes no bit
// of its state, and as long as the inputs stay, no later edge does. Such edges are left out.
template <typename Model, typename Root> class Block {
  public:
    // It belongs to the context of the core.
    Block() : model_(Verilated::threadContextp()) {}
    ~Block() { model_.final(); }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;

    // One cycle of the clock, and the outputs after its rising edge.
    void cycle(const svBitVecVal *inputs, svBitVecVal *outputs) {
        static_assert(sizeof model_.inputs % sizeof *inputs == 0 && sizeof model_.outputs % sizeof *outputs == 0);
        if (std::memcmp(&model_.inputs, inputs, sizeof model_.inputs) != 0) {
            std::memcpy(&model_.inputs, inputs, sizeof model_.inputs);
            quiet_ = 0;
            at_rest_ = false;
        } else if (!at_rest_) {
            ++quiet_;
        }
        if (!at_rest_) {
            // Comparing costs as much as an edge: it waits for as many quiet cycles as have ever been too few.
            const bool compares = quiet_ >= settles_after_;
            if (compares) before_.assign(state(), state() + sizeof(Root));
            edge();
            if (compares) {
                at_rest_ = std::memcmp(before_.data(), state(), sizeof(Root)) == 0;
                if (!at_rest_) settles_after_ = quiet_ + 1;
            }
        }
        std::memcpy(outputs, &model_.outputs, sizeof model_.outputs);
    }

  private:
    void edge() {
        const auto before = model_.outputs;
        model_.clk = 0;
        model_.eval();
        if (cycles_++ > 0 && std::memcmp(&before, &model_.outputs, sizeof before) != 0)
            VL_FATAL_MT(__FILE__, __LINE__, "", "an output of a block follows from an input without a register");
        model_.clk = 1;
        model_.eval();
    }

    const unsigned char *state() const { return reinterpret_cast<const unsigned char *>(model_.rootp); }

    Model model_;
    std::vector<unsigned char> before_;
    std::uint64_t cycles_ = 0;
    std::uint32_t quiet_ = 0;
    std::uint32_t settles_after_ = 1;
    bool at_rest_ = false;
};

}  // namespace openwmma

// The functions that the core's Verilog imports.
#define OPENWMMA_BLOCK(name)                                                                                          \
    using name##_model = openwmma::Block<V##name, V##name##___024root>;                                              \
    extern "C" void *name##_create() { return new name##_model; }                                                     \
    extern "C" void name##_destroy(void *block) { delete static_cast<name##_model *>(block); }                        \
    extern "C" void name##_cycle(void *block, const svBitVecVal *inputs, svBitVecVal *outputs) {                      \
        static_cast<name##_model *>(block)->cycle(inputs, outputs);                                                   \
    }

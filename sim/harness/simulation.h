// One Verilated core with its clock, its memory and its waveform.
#pragma once

#include <memory>
#include <string>

#include "Vopenwmma_core.h"
#include "axi_memory.h"
#include "configuration.h"
#include "verilated.h"
#if VM_TRACE_FST
#include "verilated_fst_c.h"
#endif

namespace openwmma {

// Nothing ended in the cycles it was given, or the Verilog stopped itself.
class SimulationError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class Simulation {
  public:
    Simulation(const MemoryParameters &memory, std::uint64_t cycle_limit, const char *waves)
        : memory_(memory), cycle_limit_(cycle_limit), top_(&context_) {
        if (waves != nullptr && *waves != '\0') open_waves(waves);
        top_.aresetn = 0;
        for (int cycle = 0; cycle < 8; ++cycle) {
            settle();
            edge();
        }
        top_.aresetn = 1;
        settle();
        edge();
    }

    ~Simulation() {
#if VM_TRACE_FST
        if (waves_) waves_->close();
#endif
        top_.final();
    }

    Simulation(const Simulation &) = delete;
    Simulation &operator=(const Simulation &) = delete;

    Vopenwmma_core &top() { return top_; }
    AxiMemory &memory() { return memory_; }
    std::uint64_t cycles() const { return cycles_; }

    // First half of a cycle: inputs are set, outputs settle.
    void settle() {
        memory_.drive(top_);
        top_.aclk = 0;
        top_.eval();
        dump(0);
    }

    // Second half: the rising edge.
    void edge() {
        if (top_.aresetn) memory_.observe(top_);
        top_.aclk = 1;
        top_.eval();
        dump(HALF_PERIOD);
        if (waves_on_) waves_time_ += 2 * HALF_PERIOD;
        ++cycles_;
    }

    // The cycle at which something that starts now has taken too long, where `count` limits are fair for it.
    std::uint64_t deadline(std::uint64_t count) const { return cycles_ + cycle_limit_ * count; }

    // Ends the simulation when the deadline has passed, with the state of its ports.
    void check(std::uint64_t deadline, const char *awaited) const {
        if (cycles_ > deadline) throw SimulationError(std::string("no end of ") + awaited + " after " + std::to_string(cycles_) + " cycles" + state());
    }

    // What the host reads while the core is idle is left out of the waveform.
    void pause_waves(bool pause) { waves_on_ = has_waves_ && !pause; }

    void note_status(std::uint32_t status) { status_ = status; }

  private:
    static constexpr std::uint64_t HALF_PERIOD = 5;

    void open_waves([[maybe_unused]] const char *path) {
#if VM_TRACE_FST
        context_.traceEverOn(true);
        waves_ = std::make_unique<VerilatedFstC>();
        top_.trace(waves_.get(), 99);
        waves_->open(path);
        if (!waves_->isOpen()) throw SimulationError(std::string("cannot write waveform ") + path);
        has_waves_ = waves_on_ = true;
#else
        throw SimulationError("this library was built without waveforms");
#endif
    }

    void dump([[maybe_unused]] std::uint64_t offset) {
#if VM_TRACE_FST
        if (waves_on_) waves_->dump(waves_time_ + offset);
#endif
    }

    std::string state() const {
        return ": last status " + hexadecimal(status_) + ", " + std::to_string(memory_.reads_under_way()) + " reads and " +
               std::to_string(memory_.writes_under_way()) + " writes under way, ARVALID " + std::to_string(top_.m_axi_arvalid) +
               ", RREADY " + std::to_string(top_.m_axi_rready) + ", AWVALID " + std::to_string(top_.m_axi_awvalid) + ", WVALID " +
               std::to_string(top_.m_axi_wvalid) + ", BREADY " + std::to_string(top_.m_axi_bready);
    }

    AxiMemory memory_;
    std::uint64_t cycle_limit_;
    VerilatedContext context_;
    Vopenwmma_core top_;
#if VM_TRACE_FST
    std::unique_ptr<VerilatedFstC> waves_;
#endif
    bool has_waves_ = false;
    bool waves_on_ = false;
    std::uint64_t waves_time_ = 0;
    std::uint64_t cycles_ = 0;
    std::uint32_t status_ = 0;
};

}  // namespace openwmma

// One Verilated core with its clock and its memory, its waveform and its record of signals.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "Vopenwmma_core.h"
#include "Vopenwmma_core___024root.h"
#include "axi_memory.h"
#include "configuration.h"
#include "verilated.h"
#if OPENWMMA_OBSERVED
#include "recorder.h"
#include "verilated_fst_c.h"
#endif
#if OPENWMMA_COUNTS
#include "counts.h"
#endif

namespace openwmma {

// Nothing ended in the cycles it was given, or the Verilog stopped itself.
class SimulationError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class Simulation {
  public:
    Simulation(const MemoryParameters &memory, std::uint64_t cycle_limit, const char *waves, bool records)
        : memory_(memory), cycle_limit_(cycle_limit), top_(&context_) {
        if (waves != nullptr && *waves != '\0') open_waves(waves);
        if (records) begin_record();
        observed_ = has_waves_ || records_;
        top_.aresetn = 0;
        for (int cycle = 0; cycle < 8; ++cycle) {
            settle();
            edge();
        }
        top_.aresetn = 1;
        settle();
        edge();
    }

    // Another simulation of this thread may be gone, and its context with it.
    ~Simulation() {
        Verilated::threadContextp(&context_);
#if OPENWMMA_OBSERVED
        if (waves_) waves_->close();
#endif
        top_.final();
#if OPENWMMA_COUNTS
        all_counts.add(top_);
#endif
    }

    Simulation(const Simulation &) = delete;
    Simulation &operator=(const Simulation &) = delete;

    Vopenwmma_core &top() { return top_; }
    AxiMemory &memory() { return memory_; }
    std::uint64_t cycles() const { return cycles_; }

    // First half of a cycle: inputs are set, outputs settle. A driven core takes inputs at the rising edge that ended
    // the cycle before, which is evaluated only now.
    void settle() {
#if OPENWMMA_DRIVEN
        if (begun_) {
            top_.retake = 1;
            top_.eval();
            top_.retake = 0;
        }
        begin();
        begun_ = false;
#else
        memory_.drive(top_);
        level(0);
#endif
        dump(0);
    }

    // Second half: the rising edge.
    void edge() {
        if (top_.aresetn) memory_.observe(top_);
        sample();
        if (!OPENWMMA_DRIVEN) level(1);
        dump(HALF_PERIOD);
        if (observed_) ++observed_cycles_;
        ++cycles_;
    }

    // The cycle at which something that starts now has taken too long, where `count` limits are fair for it.
    std::uint64_t deadline(std::uint64_t count) const { return cycles_ + cycle_limit_ * count; }

    // Copies the first `count` words of the memories that configuration.h names, a row of each in its turn.
    // Rows are whole words.
    void inspect([[maybe_unused]] std::uint32_t count, [[maybe_unused]] std::uint32_t *values) {
#ifdef OPENWMMA_INSPECTED
        begin();
        std::size_t first = 0;
#define OPENWMMA_INSPECT(memory) copy_rows(top_.rootp->memory, first++, count, values);
        OPENWMMA_INSPECTED(OPENWMMA_INSPECT)
#undef OPENWMMA_INSPECT
#else
        throw SimulationError("no memory to inspect");
#endif
    }

    // Calls `access` with words of the on-chip memory; rows lie in its banks in turns.
    template <typename Access>
    void shared_words([[maybe_unused]] std::size_t first, std::size_t count, [[maybe_unused]] Access access) {
#ifdef OPENWMMA_SHARED
        begin();
        std::vector<std::uint32_t *> banks;
        std::size_t row_words = 0, words = 0;
#define OPENWMMA_BANK(member)                                                           \
    banks.push_back(reinterpret_cast<std::uint32_t *>(&top_.rootp->member[0]));         \
    static_assert(sizeof top_.rootp->member[0] % sizeof(std::uint32_t) == 0);           \
    row_words = sizeof top_.rootp->member[0] / sizeof(std::uint32_t);                   \
    words += sizeof top_.rootp->member / sizeof(std::uint32_t);
        OPENWMMA_SHARED(OPENWMMA_BANK)
#undef OPENWMMA_BANK
        if (first + count <= words) {
            for (std::size_t word = first; word < first + count; ++word) {
                const std::size_t row = word / row_words;
                access(word - first, banks[row % banks.size()][row / banks.size() * row_words + word % row_words]);
            }
            return;
        }
#endif
        throw SimulationError("no on-chip memory of " + std::to_string(first + count) + " words");
    }

    // Ends the simulation when the deadline has passed, with the state of its ports.
    void check(std::uint64_t deadline, const char *awaited) const {
        if (cycles_ > deadline) throw SimulationError(std::string("no end of ") + awaited + " after " + std::to_string(cycles_) + " cycles" + state());
    }

    // What the host reads while the core is idle is left out of the waveform and of the record.
    void pause_observing(bool pause) { observed_ = (has_waves_ || records_) && !pause; }

    // Cycles in the waveform and in the record.
    std::uint64_t observed_cycles() const { return observed_cycles_; }

#if OPENWMMA_OBSERVED
    const Recorder &recorder() const { return recorder_; }
#endif

    void note_status(std::uint32_t status) { status_ = status; }

  private:
#ifdef OPENWMMA_INSPECTED
    // Every row of a memory that is one of several, from the number of its first row on.
    template <typename Memory>
    static void copy_rows(const Memory &memory, std::size_t first, std::size_t count, std::uint32_t *values) {
        constexpr std::size_t row_words = sizeof memory[0] / sizeof *values;
        static_assert(sizeof memory[0] % sizeof *values == 0);
        const std::size_t rows = (count + row_words - 1) / row_words;
        if (rows > sizeof memory / sizeof memory[0] * configuration::INSPECTED)
            throw SimulationError("no memory of " + std::to_string(count) + " words to inspect");
        for (std::size_t row = first; row < rows; row += configuration::INSPECTED) {
            const std::size_t words = std::min(row_words, count - row * row_words);
            std::memcpy(values + row * row_words, &memory[row / configuration::INSPECTED], words * sizeof *values);
        }
    }
#endif

    static constexpr std::uint64_t HALF_PERIOD = 5;

    // Evaluates the edge that ended the cycle before, with inputs that may still change.
    void begin() {
#if OPENWMMA_DRIVEN
        if (begun_) return;
        memory_.drive(top_);
        level(0);
        level(1);
        begun_ = true;
#endif
    }

    void level(bool high) {
        top_.aclk = high;
        top_.eval();
    }

    void open_waves([[maybe_unused]] const char *path) {
#if OPENWMMA_OBSERVED
        context_.traceEverOn(true);
        waves_ = std::make_unique<VerilatedFstC>();
        top_.trace(waves_.get(), 99);
        waves_->open(path);
        if (!waves_->isOpen()) throw SimulationError(std::string("cannot write waveform ") + path);
        has_waves_ = true;
#else
        throw SimulationError("this library was built without waveforms");
#endif
    }

    void begin_record() {
#if OPENWMMA_OBSERVED
        records_ = true;
#else
        throw SimulationError("this library was built without a record of signals");
#endif
    }

    void dump([[maybe_unused]] std::uint64_t offset) {
#if OPENWMMA_OBSERVED
        if (has_waves_ && observed_) waves_->dump(observed_cycles_ * 2 * HALF_PERIOD + offset);
#endif
    }

    void sample() {
#if OPENWMMA_OBSERVED
        if (records_ && observed_) recorder_.sample(top_, observed_cycles_);
#endif
    }

    std::string state() const {
        return ": last status " + hexadecimal(status_) + ", " + std::to_string(memory_.reads_in_flight()) + " reads and " +
               std::to_string(memory_.writes_in_flight()) + " writes in flight, ARVALID " + std::to_string(top_.m_axi_arvalid) +
               ", RREADY " + std::to_string(top_.m_axi_rready) + ", AWVALID " + std::to_string(top_.m_axi_awvalid) + ", WVALID " +
               std::to_string(top_.m_axi_wvalid) + ", BREADY " + std::to_string(top_.m_axi_bready);
    }

    AxiMemory memory_;
    std::uint64_t cycle_limit_;
    VerilatedContext context_;
    Vopenwmma_core top_;
#if OPENWMMA_OBSERVED
    std::unique_ptr<VerilatedFstC> waves_;
    Recorder recorder_;
#endif
    bool has_waves_ = false;
    bool records_ = false;
    bool observed_ = false;
    [[maybe_unused]] bool begun_ = false;  // of a driven core
    std::uint64_t observed_cycles_ = 0;
    std::uint64_t cycles_ = 0;
    std::uint32_t status_ = 0;
};

}  // namespace openwmma

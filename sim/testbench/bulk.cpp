// Drives a Verilated unit of one operand stream and one result stream from memory, at the speed of C++.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "Vbench.h"
#include "verilated.h"

namespace {

// xorshift64*: which cycles the two sides pause in.
class Chance {
  public:
    explicit Chance(std::uint64_t seed) : state_(seed * 2 + 1) {}
    bool operator()(std::uint32_t of_256) {
        if (of_256 == 0) return false;
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return (state_ * 0x2545F4914F6CDD1DULL) >> 56 < of_256;
    }

  private:
    std::uint64_t state_;
};

void edge(Vbench& unit) {
    unit.aclk = 1;
    unit.eval();
    unit.aclk = 0;
    unit.eval();
}

}  // namespace

// Sends `count` operations and stores as many results, both as 32-bit words, low words first. Returns the cycles taken, or -1
// if the results stop coming, -2 if more results come than operands were sent.
extern "C" std::int64_t run_bulk(const std::uint32_t* operands, std::uint32_t* results, std::size_t count,
                                 std::uint32_t input_pause, std::uint32_t output_pause, std::uint64_t seed) {
    const auto context = std::make_unique<VerilatedContext>();
    Vbench unit(context.get());
    constexpr std::size_t operand_words = sizeof(unit.operands_payload) / sizeof(std::uint32_t);
    constexpr std::size_t result_words = sizeof(unit.result_payload) / sizeof(std::uint32_t);
    static_assert(operand_words == OPERAND_WORDS && result_words == RESULT_WORDS);
    Chance pause_input(seed), pause_output(seed + 1);
    unit.operands_valid = 0;
    unit.result_ready = 0;
    unit.aresetn = 0;
    edge(unit);
    unit.aresetn = 1;

    std::size_t sent = 0, received = 0;
    std::int64_t cycles = 0, quiet = 0;
    bool offering = false;
    while (received < count || quiet < 64) {
        if (!offering && sent < count && !pause_input(input_pause)) {
            std::memcpy(&unit.operands_payload, operands + sent * operand_words, sizeof(unit.operands_payload));
            offering = true;
        }
        unit.operands_valid = offering;
        unit.result_ready = !pause_output(output_pause);
        // Ready and valid come from registers: no evaluation is needed before the edge.
        const bool taken = offering && unit.operands_ready;
        const bool given = unit.result_valid && unit.result_ready;
        if (given) {
            if (received == count) return -2;
            std::memcpy(results + received * result_words, &unit.result_payload, sizeof(unit.result_payload));
            ++received;
        }
        edge(unit);
        if (taken) {
            offering = false;
            ++sent;
        }
        if (received < count) ++cycles;
        quiet = given || taken ? 0 : quiet + 1;
        if (quiet > 100000) return -1;
    }
    return cycles;
}

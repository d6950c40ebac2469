// The dot-product unit, one clock cycle for each call.
#include "export.h"

namespace {

using openwmma::OBSERVED_WORDS;

VerilatedContext *context = nullptr;
Vtop *unit = nullptr;
std::uint32_t observed[OBSERVED_WORDS];
std::uint32_t operands[sizeof(Vtop::operands_payload) / 4];
std::uint32_t result;

void edge() {
    unit->aclk = 1;
    unit->eval();
    unit->aclk = 0;
    unit->eval();
}

}  // namespace

// A unit fresh from reset.
EXPORTED(reset) void reset() {
    delete unit;
    delete context;
    context = new VerilatedContext;
    unit = new Vtop(context);
    unit->operands_valid = 0;
    unit->result_ready = 0;
    unit->aresetn = 0;
    edge();
    edge();
    unit->aresetn = 1;
    std::memset(observed, 0, sizeof observed);
    openwmma::observe(*unit, observed);
}

// Where the operands of the next step are put, and their words.
EXPORTED(operands_address) std::uint32_t *operands_address() { return operands; }
EXPORTED(operands_words) std::uint32_t operands_words() { return sizeof operands / 4; }

// The outputs of all stages after the last step, and their words.
EXPORTED(observed_address) const std::uint32_t *observed_address() { return observed; }
EXPORTED(observed_words) std::uint32_t observed_words() { return OBSERVED_WORDS; }

// The result that left in the last step in which one did.
EXPORTED(result_word) std::uint32_t result_word() { return result; }

// One cycle, in which operands may be offered and a result taken. Bit 0: the operands were accepted; bit 1: a result left.
EXPORTED(step) std::uint32_t step(std::uint32_t offer, std::uint32_t take) {
    unit->operands_valid = offer != 0;
    unit->result_ready = take != 0;
    std::memcpy(&unit->operands_payload, operands, sizeof operands);
    unit->eval();
    const bool accepted = unit->operands_valid && unit->operands_ready;
    const bool left = unit->result_valid && unit->result_ready;
    if (left) openwmma::copy_port(&result, unit->result_payload);
    edge();
    openwmma::observe(*unit, observed);
    return std::uint32_t(accepted) | std::uint32_t(left) << 1;
}

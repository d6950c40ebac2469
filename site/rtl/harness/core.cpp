// A whole core with its memory and its host, run for a number of cycles at a time; it notes what happens in each.
#include <vector>

#include "export.h"
#include "host.h"
#include "memory.h"

namespace {

using namespace openwmma;

// A command that starts: the unit that takes it and the registers it reads and writes.
struct Start {
    std::uint32_t cycle, unit, footprint[3];
};

// A word that is written to the register file, to which its data come a cycle later.
struct RegisterWrite {
    std::uint32_t cycle, address, lanes, data[4];
};

struct Core {
    explicit Core(std::uint32_t latency) : memory(latency) {}
    VerilatedContext context;
    Vtop top{&context};
    Memory memory;
    Host host;
    std::uint32_t now = 0;
    std::vector<std::uint32_t> cycles;
    std::vector<Start> starts;
    std::vector<RegisterWrite> writes;
    bool awaits_data = false;
};

Core *core = nullptr;

void edge() {
    core->top.aclk = 1;
    core->top.eval();
    core->top.aclk = 0;
}

void note() {
    const Vtop &top = core->top;
    std::uint32_t flags = 0, place = 0;
    const auto add = [&](std::uint32_t value, unsigned bits) {
        flags |= value << place;
        place += bits;
    };
    add(top.sequencer_stall_registers, 1);
    add(top.sequencer_stall_memory, 1);
    add(top.sequencer_stall_unit, 1);
    add(top.sequencer_queue_empty, 1);
    add(top.sequencer_taken, 1);
    add(top.sequencer_given, 1);
    add(top.scoreboard_full, 1);
    add(top.sequencer_fetched, 5);
    add(top.sequencer_done, 5);
    add(top.m_axi_arvalid && top.m_axi_arready, 1);
    add(top.m_axi_rvalid && top.m_axi_rready, 1);
    add(top.m_axi_awvalid && top.m_axi_awready, 1);
    add(top.m_axi_wvalid && top.m_axi_wready, 1);
    add(top.tile_busy_units != 0, 1);
    core->cycles.push_back(flags);
    if (top.scoreboard_allocate) {
        Start start{core->now, top.scoreboard_unit, {}};
        copy_port(start.footprint, top.scoreboard_footprint);
        core->starts.push_back(start);
    }
    if (core->awaits_data) copy_port(core->writes.back().data, top.registers_data);
    core->awaits_data = top.registers_enable;
    if (top.registers_enable) {
        core->writes.push_back({core->now, top.registers_address, top.registers_lanes, {}});
    }
}

void cycle() {
    core->memory.drive(core->top, core->now);
    core->host.drive(core->top);
    core->top.eval();
    note();
    core->memory.observe(core->top, core->now);
    core->host.observe(core->top, core->now);
    edge();
    ++core->now;
}

template <typename Items> std::uint32_t words(const Items &items) { return std::uint32_t(items.size() * sizeof(items[0]) / 4); }

}  // namespace

// A core fresh from reset, its memory zero and answering after `latency` cycles.
EXPORTED(reset) void reset(std::uint32_t latency) {
    delete core;
    core = new Core(latency);
    core->top.aresetn = 0;
    core->top.eval();
    edge();
    core->top.eval();
    edge();
    core->top.aresetn = 1;
}

EXPORTED(memory_address) std::uint8_t *memory_address() { return core->memory.bytes; }
EXPORTED(memory_bytes) std::uint32_t memory_bytes() { return BYTES; }
EXPORTED(memory_base) std::uint32_t memory_base() { return BASE; }

// Where the words of `count` commands are put before the first cycle.
EXPORTED(commands_address) std::uint32_t *commands_address(std::uint32_t count) {
    core->host.words.resize(std::size_t(count) * configuration::COMMAND_WORDS);
    return core->host.words.data();
}

// Simulates until the program has ended, but no more than `most` cycles. 0: still running; 1: at its end; 2: at a fault.
EXPORTED(run) std::uint32_t run(std::uint32_t most) {
    for (; most > 0 && core->host.outcome == Outcome::RUNNING; --most) cycle();
    return std::uint32_t(core->host.outcome);
}

EXPORTED(fault_cause) std::uint32_t fault_cause() { return core->host.cause; }
EXPORTED(fault_index) std::uint32_t fault_index() { return core->host.index; }

// What was noted, as 32-bit words; an address holds until the next run.
EXPORTED(cycles_address) const std::uint32_t *cycles_address() { return core->cycles.data(); }
EXPORTED(cycles_words) std::uint32_t cycles_words() { return words(core->cycles); }
EXPORTED(starts_address) const Start *starts_address() { return core->starts.data(); }
EXPORTED(starts_words) std::uint32_t starts_words() { return words(core->starts); }
EXPORTED(writes_address) const RegisterWrite *writes_address() { return core->writes.data(); }
EXPORTED(writes_words) std::uint32_t writes_words() { return words(core->writes); }
EXPORTED(beats_address) const Beat *beats_address() { return core->memory.beats.data(); }
EXPORTED(beats_words) std::uint32_t beats_words() { return words(core->memory.beats); }
EXPORTED(arrivals_address) const std::uint32_t *arrivals_address() { return core->host.arrivals.data(); }
EXPORTED(arrivals_words) std::uint32_t arrivals_words() { return words(core->host.arrivals); }

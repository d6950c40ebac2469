// The C interface through which Python drives a Verilated core; see sim/simulation.py.
#include <cstdio>
#include <memory>
#include <string>

#include "axi_memory.h"
#include "host.h"
#include "simulation.h"

namespace {

using openwmma::Host;
using openwmma::MemoryParameters;
using openwmma::Simulation;

struct Harness {
    Harness(const MemoryParameters &memory, std::uint64_t cycle_limit, const char *waves, bool records)
        : simulation(memory, cycle_limit, waves, records), host(simulation) {}
    Simulation simulation;
    Host host;
};

thread_local std::string last_error;

enum Outcome { DONE = 0, FAULT = 1, REFUSED = 2, BROKEN = 3 };

template <typename Action> int guarded(Action action) {
    try {
        return action();
    } catch (const std::exception &error) {
        last_error = error.what();
        return BROKEN;
    }
}

}  // namespace

// Verilator calls these where it would end the process; here an assertion ends a simulation.
void vl_finish(const char *file, int line, const char *) { throw openwmma::SimulationError(std::string("$finish at ") + file + ":" + std::to_string(line)); }
void vl_stop(const char *file, int line, const char *) { throw openwmma::SimulationError(std::string("assertion failed at ") + file + ":" + std::to_string(line)); }
void vl_fatal(const char *file, int line, const char *, const char *message) {
    throw openwmma::SimulationError(std::string("fatal: ") + message + " at " + file + ":" + std::to_string(line));
}

extern "C" {

const char *openwmma_error() { return last_error.c_str(); }

void *openwmma_create(const MemoryParameters *memory, std::uint64_t cycle_limit, const char *waves, int records) {
    Harness *harness = nullptr;
    guarded([&] {
        harness = new Harness(*memory, cycle_limit, waves, records != 0);
        return DONE;
    });
    return harness;
}

void openwmma_destroy(void *harness) { delete static_cast<Harness *>(harness); }

#if OPENWMMA_COUNTS
void openwmma_write_counts(const char *path) { openwmma::all_counts.write(path); }
#endif

std::uint64_t openwmma_cycles(void *harness) { return static_cast<Harness *>(harness)->simulation.cycles(); }

std::uint64_t openwmma_observed_cycles(void *harness) { return static_cast<Harness *>(harness)->simulation.observed_cycles(); }

// The changes recorded so far, and how many they are; they stay where they are until the next cycle.
std::uint64_t openwmma_changes([[maybe_unused]] void *harness, [[maybe_unused]] const void **first) {
#if OPENWMMA_OBSERVED
    const auto &changes = static_cast<Harness *>(harness)->simulation.recorder().changes();
    *first = changes.data();
    return changes.size();
#else
    return 0;
#endif
}

void openwmma_waits(void *harness, openwmma::Waits *counted) {
    auto &self = *static_cast<Harness *>(harness);
    openwmma::Waits waits = self.simulation.memory().waits();
    waits.queue = self.host.full_polls();
    *counted = waits;
}

void openwmma_set_slave_error(void *harness, std::uint64_t base, std::uint64_t size) {
    static_cast<Harness *>(harness)->simulation.memory().set_slave_error(base, size);
}

int openwmma_read(void *harness, std::uint32_t address, std::uint32_t count, std::uint32_t *values) {
    auto &self = *static_cast<Harness *>(harness);
    return guarded([&] {
        self.simulation.pause_observing(count > 1);
        const auto response = self.host.read(address, count, values);
        self.simulation.pause_observing(false);
        return response == openwmma::OKAY ? DONE : REFUSED;
    });
}

int openwmma_inspect(void *harness, std::uint32_t count, std::uint32_t *values) {
    auto &self = *static_cast<Harness *>(harness);
    return guarded([&] {
        self.simulation.inspect(count, values);
        return DONE;
    });
}

int openwmma_read_shared(void *harness, std::uint32_t first, std::uint32_t count, std::uint32_t *values) {
    auto &self = *static_cast<Harness *>(harness);
    return guarded([&] {
        self.simulation.shared_words(first, count, [&](std::size_t word, std::uint32_t &held) { values[word] = held; });
        return DONE;
    });
}

int openwmma_write_shared(void *harness, std::uint32_t first, std::uint32_t count, const std::uint32_t *values) {
    auto &self = *static_cast<Harness *>(harness);
    return guarded([&] {
        self.simulation.shared_words(first, count, [&](std::size_t word, std::uint32_t &held) { held = values[word]; });
        return DONE;
    });
}

int openwmma_write(void *harness, const std::uint32_t *addresses, const std::uint32_t *values, std::uint32_t count) {
    auto &self = *static_cast<Harness *>(harness);
    return guarded([&] { return self.host.write(addresses, values, count) == openwmma::OKAY ? DONE : REFUSED; });
}

int openwmma_queue(void *harness, const std::uint32_t *words, std::uint32_t commands) {
    auto &self = *static_cast<Harness *>(harness);
    return guarded([&] { return self.host.queue(words, commands) ? DONE : FAULT; });
}

int openwmma_finish(void *harness) {
    auto &self = *static_cast<Harness *>(harness);
    return guarded([&] { return self.host.finish() ? DONE : FAULT; });
}
}

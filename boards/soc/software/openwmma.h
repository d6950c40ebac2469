// Driver of the core for a processor beside it. Registers: openwmma_core.h, which PeakRDL writes; fields and
// codes of commands: openwmma_commands.h, which boards/soc/headers.py writes. All commands are of warp 0.

#ifndef OPENWMMA_H
#define OPENWMMA_H

#include <stdint.h>

#include "openwmma_commands.h"
#include "openwmma_core.h"

// Why a command failed: a value of OPENWMMA_CORE__FAULT_CAUSE__CAUSE in openwmma_core.h; 0 for none.
typedef uint32_t openwmma_cause;

typedef struct {
	uint32_t words[OPENWMMA_COMMAND_WORDS];
} openwmma_command;

// Shape and element types of a multiply: codes of openwmma_commands.h.
typedef struct {
	unsigned shape, a_type, b_type, c_type, d_type;
} openwmma_types;

typedef struct {
	openwmma_cause cause;
	uint32_t index;     // commands executed before the one that failed
	uint32_t progress;  // bursts of a failed store that the memory took
} openwmma_fault;

// Commands. `reg` is the first register of a fragment, `stride` elements from one row (column) to the next.
openwmma_command openwmma_load(unsigned use, unsigned layout, unsigned shape, unsigned type, unsigned reg,
                               const void *address, uint32_t stride);
openwmma_command openwmma_store(unsigned layout, unsigned shape, unsigned type, unsigned reg, void *address,
                                uint32_t stride);
openwmma_command openwmma_mma(const openwmma_types *types, unsigned d, unsigned a, unsigned b, unsigned c);
openwmma_command openwmma_fill(unsigned reg, unsigned count, uint32_t value);

// Drop queued commands and clear the fault; commands may overlap from here on. Returns 0, or -1 where there
// is no core, or one with another register map.
int openwmma_open(void);

// Hand over a command, waiting for a free place in the queue. Returns the cause where the core has failed.
openwmma_cause openwmma_queue(openwmma_command command);

// Wait until the core is idle or has failed; memory is then as the core wrote it. Returns the cause.
openwmma_cause openwmma_wait(void);

// The same, woken by the core's interrupt.
openwmma_cause openwmma_wait_interrupt(void);

// The fault, which is cleared together with the queue.
openwmma_fault openwmma_take_fault(void);

// Name of a cause.
const char *openwmma_cause_name(openwmma_cause cause);

// One of the 64-bit counters, as in openwmma_counter(offsetof(openwmma_core_t, CYCLES)).
uint64_t openwmma_counter(unsigned offset);

// Cycles of the processor's clock since its reset.
uint64_t openwmma_processor_cycles(void);

#endif

#include "openwmma.h"

#include <stddef.h>

#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>
#include <irq.h>
#include <system.h>

// The header's structure is packed, so a compiler would access its members byte by byte.
#define REGISTER(name) (*(volatile uint32_t *)(OPENWMMA_BASE + offsetof(openwmma_core_t, name)))

#define FIELD(name, value) (((value) & OPENWMMA_CORE__##name##_bm) >> OPENWMMA_CORE__##name##_bp)

static volatile int interrupted;

static void put(openwmma_command *command, unsigned place, uint32_t value)
{
	command->words[place / 32] |= value << place % 32;
}

static openwmma_command memory_command(unsigned opcode, unsigned use, unsigned layout, unsigned shape,
                                       unsigned type, unsigned reg, const void *address, uint32_t stride)
{
	openwmma_command command = {{0}};

	put(&command, OPENWMMA_MEMORY_OPCODE, opcode);
	put(&command, OPENWMMA_MEMORY_USE, use);
	put(&command, OPENWMMA_MEMORY_LAYOUT, layout);
	put(&command, OPENWMMA_MEMORY_TILE_SHAPE, shape);
	put(&command, OPENWMMA_MEMORY_ELEMENT_TYPE, type);
	put(&command, OPENWMMA_MEMORY_SPACE, OPENWMMA_SPACE_GLOBAL);
	put(&command, OPENWMMA_MEMORY_HAS_STRIDE, 1);
	put(&command, OPENWMMA_MEMORY_REGISTER, reg);
	put(&command, OPENWMMA_MEMORY_ADDRESS, (uint32_t)address);
	put(&command, OPENWMMA_MEMORY_STRIDE, stride);
	return command;
}

openwmma_command openwmma_load(unsigned use, unsigned layout, unsigned shape, unsigned type, unsigned reg,
                               const void *address, uint32_t stride)
{
	return memory_command(OPENWMMA_OPCODE_LOAD, use, layout, shape, type, reg, address, stride);
}

openwmma_command openwmma_store(unsigned layout, unsigned shape, unsigned type, unsigned reg, void *address,
                                uint32_t stride)
{
	return memory_command(OPENWMMA_OPCODE_STORE, OPENWMMA_USE_D, layout, shape, type, reg, address, stride);
}

openwmma_command openwmma_mma(const openwmma_types *types, unsigned d, unsigned a, unsigned b, unsigned c)
{
	openwmma_command command = {{0}};

	put(&command, OPENWMMA_MMA_OPCODE, OPENWMMA_OPCODE_MMA);
	put(&command, OPENWMMA_MMA_TILE_SHAPE, types->shape);
	put(&command, OPENWMMA_MMA_A_TYPE, types->a_type);
	put(&command, OPENWMMA_MMA_B_TYPE, types->b_type);
	put(&command, OPENWMMA_MMA_C_TYPE, types->c_type);
	put(&command, OPENWMMA_MMA_D_TYPE, types->d_type);
	put(&command, OPENWMMA_MMA_D, d);
	put(&command, OPENWMMA_MMA_A, a);
	put(&command, OPENWMMA_MMA_B, b);
	put(&command, OPENWMMA_MMA_C, c);
	return command;
}

openwmma_command openwmma_fill(unsigned reg, unsigned count, uint32_t value)
{
	openwmma_command command = {{0}};

	put(&command, OPENWMMA_REGISTER_OPCODE, OPENWMMA_OPCODE_FILL);
	put(&command, OPENWMMA_REGISTER_COUNT, count);
	put(&command, OPENWMMA_REGISTER_DESTINATION, reg);
	put(&command, OPENWMMA_REGISTER_VALUE, value);
	return command;
}

int openwmma_open(void)
{
	if (REGISTER(IDENTITY) != OPENWMMA_CORE__IDENTITY__IDENTITY_reset)
		return -1;
	if (REGISTER(VERSION) != OPENWMMA_VERSION)
		return -1;
	REGISTER(INTERRUPT_ENABLE) = 0;
	REGISTER(WARP) = 0;
	REGISTER(CONTROL) = OPENWMMA_CORE__CONTROL__CLEAR_bm;
	while (REGISTER(STATUS) & OPENWMMA_CORE__STATUS__BUSY_bm)
		;
	REGISTER(MODE) = 0;
	return 0;
}

static openwmma_cause cause_of(uint32_t status)
{
	if (!(status & OPENWMMA_CORE__STATUS__FAULT_bm))
		return 0;
	return FIELD(FAULT_CAUSE__CAUSE, REGISTER(FAULT_CAUSE));
}

openwmma_cause openwmma_queue(openwmma_command command)
{
	uint32_t status;
	int word;

	do {
		status = REGISTER(STATUS);
		if (status & OPENWMMA_CORE__STATUS__FAULT_bm)
			return cause_of(status);
	} while (!(status & OPENWMMA_CORE__STATUS__FREE_bm));
	for (word = OPENWMMA_COMMAND_WORDS - 1; word >= 0; word--)
		REGISTER(COMMAND[word]) = command.words[word];
	return 0;
}

openwmma_cause openwmma_wait(void)
{
	uint32_t status;

	do
		status = REGISTER(STATUS);
	while ((status & OPENWMMA_CORE__STATUS__BUSY_bm) && !(status & OPENWMMA_CORE__STATUS__FAULT_bm));
	flush_cpu_dcache();
	return cause_of(status);
}

static void on_interrupt(void)
{
	// Level-sensitive: lowered by what it is enabled for, which the waiting code has yet to look at.
	REGISTER(INTERRUPT_ENABLE) = 0;
	interrupted = 1;
}

openwmma_cause openwmma_wait_interrupt(void)
{
	interrupted = 0;
	irq_attach(OPENWMMA_INTERRUPT, on_interrupt);
	openwmma_ev_enable_write(1);
	irq_setmask(irq_getmask() | 1 << OPENWMMA_INTERRUPT);
	irq_setie(1);
	REGISTER(INTERRUPT_ENABLE) =
		OPENWMMA_CORE__INTERRUPT_ENABLE__IDLE_bm | OPENWMMA_CORE__INTERRUPT_ENABLE__FAULT_bm;
	while (!interrupted)
		;
	irq_setmask(irq_getmask() & ~(1 << OPENWMMA_INTERRUPT));
	return openwmma_wait();
}

openwmma_fault openwmma_take_fault(void)
{
	openwmma_fault fault = {cause_of(REGISTER(STATUS)), REGISTER(FAULT_INDEX), REGISTER(FAULT_PROGRESS)};

	REGISTER(CONTROL) = OPENWMMA_CORE__CONTROL__CLEAR_bm;
	return fault;
}

const char *openwmma_cause_name(openwmma_cause cause)
{
	static const char *const names[] = OPENWMMA_CAUSES;

	return cause < sizeof names / sizeof *names ? names[cause] : "unknown";
}

uint64_t openwmma_counter(unsigned offset)
{
	volatile uint32_t *words = (volatile uint32_t *)(OPENWMMA_BASE + offset);
	uint32_t low = words[0];  // latches the high word

	return (uint64_t)words[1] << 32 | low;
}

uint64_t openwmma_processor_cycles(void)
{
	timer0_uptime_latch_write(1);
	return timer0_uptime_cycles_read();
}

// D = A B of one tile, 16 x 16 in f16 with sums in f32, driven from C: no operating system, no LiteX.
// core.h has the registers (peakrdl c-header core.rdl), core_commands.h the fields and codes of commands.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bus.h"
#include "core.h"
#include "core_commands.h"

#define REGISTER(name) offsetof(openwmma_core_t, name)

enum { N = 16, A_ADDRESS = 0x1000, B_ADDRESS = 0x2000, D_ADDRESS = 0x3000 };
enum { A_REGISTER = 0, B_REGISTER = 8, D_REGISTER = 16, D_REGISTERS = 8 };

typedef struct {
	uint32_t words[OPENWMMA_COMMAND_WORDS];
} command;

// A field may begin in any word and stays within it.
static void put(command *made, unsigned first_bit, uint32_t value)
{
	made->words[first_bit / 32] |= value << first_bit % 32;
}

static command memory_command(unsigned opcode, unsigned use, unsigned layout, unsigned type, unsigned reg,
                              uint32_t address)
{
	command made = {{0}};

	put(&made, OPENWMMA_MEMORY_OPCODE, opcode);
	put(&made, OPENWMMA_MEMORY_USE, use);
	put(&made, OPENWMMA_MEMORY_LAYOUT, layout);
	put(&made, OPENWMMA_MEMORY_TILE_SHAPE, OPENWMMA_SHAPE_M16N16K16);
	put(&made, OPENWMMA_MEMORY_ELEMENT_TYPE, type);
	put(&made, OPENWMMA_MEMORY_SPACE, OPENWMMA_SPACE_GLOBAL);
	put(&made, OPENWMMA_MEMORY_HAS_STRIDE, 1);
	put(&made, OPENWMMA_MEMORY_REGISTER, reg);
	put(&made, OPENWMMA_MEMORY_ADDRESS, address);
	put(&made, OPENWMMA_MEMORY_STRIDE, N);
	return made;
}

static command fill(unsigned reg, unsigned count, uint32_t value)
{
	command made = {{0}};

	put(&made, OPENWMMA_REGISTER_OPCODE, OPENWMMA_OPCODE_FILL);
	put(&made, OPENWMMA_REGISTER_COUNT, count);
	put(&made, OPENWMMA_REGISTER_DESTINATION, reg);
	put(&made, OPENWMMA_REGISTER_VALUE, value);
	return made;
}

static command multiply(unsigned d, unsigned a, unsigned b, unsigned c)
{
	command made = {{0}};

	put(&made, OPENWMMA_MMA_OPCODE, OPENWMMA_OPCODE_MMA);
	put(&made, OPENWMMA_MMA_TILE_SHAPE, OPENWMMA_SHAPE_M16N16K16);
	put(&made, OPENWMMA_MMA_A_TYPE, OPENWMMA_TYPE_F16);
	put(&made, OPENWMMA_MMA_B_TYPE, OPENWMMA_TYPE_F16);
	put(&made, OPENWMMA_MMA_C_TYPE, OPENWMMA_TYPE_F32);
	put(&made, OPENWMMA_MMA_D_TYPE, OPENWMMA_TYPE_F32);
	put(&made, OPENWMMA_MMA_D, d);
	put(&made, OPENWMMA_MMA_A, a);
	put(&made, OPENWMMA_MMA_B, b);
	put(&made, OPENWMMA_MMA_C, c);
	return made;
}

// Word 0 is the last one to be written: it queues the command.
static void queue(command made)
{
	while (!(register_read(REGISTER(STATUS)) & OPENWMMA_CORE__STATUS__FREE_bm))
		;
	for (int word = OPENWMMA_COMMAND_WORDS - 1; word >= 0; word--)
		register_write(REGISTER(COMMAND) + 4 * (uint32_t)word, made.words[word]);
}

// The cause of a fault, or 0. The interrupt is a level: disabling it lowers it.
static uint32_t wait_until_idle(void)
{
	register_write(REGISTER(INTERRUPT_ENABLE),
	               OPENWMMA_CORE__INTERRUPT_ENABLE__IDLE_bm | OPENWMMA_CORE__INTERRUPT_ENABLE__FAULT_bm);
	wait_for_interrupt();
	register_write(REGISTER(INTERRUPT_ENABLE), 0);
	if (!(register_read(REGISTER(STATUS)) & OPENWMMA_CORE__STATUS__FAULT_bm))
		return 0;
	return register_read(REGISTER(FAULT_CAUSE)) & OPENWMMA_CORE__FAULT_CAUSE__CAUSE_bm;
}

static int a(int row, int k) { return (3 * row + 5 * k) % 7 - 3; }
static int b(int k, int column) { return (2 * k + 3 * column) % 5 - 2; }

int main(void)
{
	static const uint16_t half[] = {0xC200, 0xC000, 0xBC00, 0, 0x3C00, 0x4000, 0x4200};  // -3 to 3
	int wrong = 0;

	if (register_read(REGISTER(IDENTITY)) != OPENWMMA_CORE__IDENTITY__IDENTITY_reset ||
	    register_read(REGISTER(VERSION)) != OPENWMMA_VERSION) {
		printf("there is no core, or one with another register map\n");
		return 1;
	}
	for (int row = 0; row < N; row++)
		for (int k = 0; k < N; k++) {
			memcpy(memory + A_ADDRESS + 2 * (N * row + k), &half[a(row, k) + 3], 2);
			memcpy(memory + B_ADDRESS + 2 * (N * row + k), &half[b(k, row) + 3], 2);  // column by column
		}
	queue(memory_command(OPENWMMA_OPCODE_LOAD, OPENWMMA_USE_A, OPENWMMA_LAYOUT_ROW, OPENWMMA_TYPE_F16, A_REGISTER,
	                     A_ADDRESS));
	queue(memory_command(OPENWMMA_OPCODE_LOAD, OPENWMMA_USE_B, OPENWMMA_LAYOUT_COL, OPENWMMA_TYPE_F16, B_REGISTER,
	                     B_ADDRESS));
	queue(fill(D_REGISTER, D_REGISTERS, 0));
	queue(multiply(D_REGISTER, A_REGISTER, B_REGISTER, D_REGISTER));
	queue(memory_command(OPENWMMA_OPCODE_STORE, OPENWMMA_USE_D, OPENWMMA_LAYOUT_ROW, OPENWMMA_TYPE_F32, D_REGISTER,
	                     D_ADDRESS));
	uint32_t cause = wait_until_idle();

	if (cause) {
		printf("the core failed, cause %u\n", (unsigned)cause);
		return 1;
	}
	for (int row = 0; row < N; row++)
		for (int column = 0; column < N; column++) {
			float found, sum = 0;

			for (int k = 0; k < N; k++)
				sum += (float)(a(row, k) * b(k, column));
			memcpy(&found, memory + D_ADDRESS + 4 * (N * row + column), sizeof found);
			if (found != sum && wrong++ == 0)
				printf("row %d, column %d: expected %g, found %g\n", row, column, sum, found);
		}
	printf(wrong ? "FAIL\n" : "PASS\n");
	return wrong != 0;
}

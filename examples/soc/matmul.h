// D = A B on the core, in tiles of 16 x 16: four accumulators, two fragments of A and two of B in registers.
// M and N are multiples of 32, K of 16. A is stored by rows, B by columns, D by rows.

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "data.h"
#include "openwmma.h"

#define TILE 16
#define BLOCK (2 * TILE)
#define ACCUMULATOR 8  // registers of a fragment of 32-bit results

static uint32_t results[M * N] __attribute__((aligned(32)));

#define TRY(command)                                       \
	do {                                               \
		openwmma_cause cause = openwmma_queue(command); \
		if (cause)                                 \
			return cause;                      \
	} while (0)

// `fragment` is the number of registers of a fragment of A or B.
static openwmma_cause multiply_on_core(const openwmma_types *types, unsigned fragment)
{
	const unsigned first_a = 4 * ACCUMULATOR, first_b = first_a + 2 * fragment;

	for (unsigned row = 0; row < M; row += BLOCK)
		for (unsigned column = 0; column < N; column += BLOCK) {
			TRY(openwmma_fill(0, 4 * ACCUMULATOR, 0));
			for (unsigned step = 0; step < K; step += TILE) {
				for (unsigned half = 0; half < 2; half++) {
					TRY(openwmma_load(OPENWMMA_USE_A, OPENWMMA_LAYOUT_ROW, types->shape, types->a_type,
					                  first_a + half * fragment, &a[(row + half * TILE) * K + step], K));
					TRY(openwmma_load(OPENWMMA_USE_B, OPENWMMA_LAYOUT_COL, types->shape, types->b_type,
					                  first_b + half * fragment, &b[(column + half * TILE) * K + step], K));
				}
				for (unsigned tile = 0; tile < 4; tile++)
					TRY(openwmma_mma(types, tile * ACCUMULATOR, first_a + tile / 2 * fragment,
					                 first_b + tile % 2 * fragment, tile * ACCUMULATOR));
			}
			for (unsigned tile = 0; tile < 4; tile++)
				TRY(openwmma_store(OPENWMMA_LAYOUT_ROW, types->shape, types->d_type, tile * ACCUMULATOR,
				                   &results[(row + tile / 2 * TILE) * N + column + tile % 2 * TILE], N));
		}
	return openwmma_wait_interrupt();
}

static int differences(const char *name, const uint32_t *found)
{
	int count = 0;

	for (unsigned place = 0; place < M * N; place++)
		if (found[place] != expected[place] && count++ == 0)
			printf("%s: row %u, column %u: expected %#" PRIx32 ", found %#" PRIx32 "\n", name, place / N, place % N,
			       expected[place], found[place]);
	printf("%s: %d of %d results differ from the golden model\n", name, count, M * N);
	return count;
}

// Multiply on the core and compare; returns the exit code of the program.
static int run_on_core(const openwmma_types *types, unsigned fragment)
{
	if (openwmma_open()) {
		printf("there is no core, or one with another register map\n");
		return 2;
	}
	uint64_t cycles = openwmma_counter(offsetof(openwmma_core_t, CYCLES));
	uint64_t busy = openwmma_counter(offsetof(openwmma_core_t, DOT_PRODUCT_CYCLES));
	uint64_t read = openwmma_counter(offsetof(openwmma_core_t, READ_BEATS));
	uint64_t written = openwmma_counter(offsetof(openwmma_core_t, WRITE_BEATS));
	uint64_t start = openwmma_processor_cycles();
	openwmma_cause cause = multiply_on_core(types, fragment);
	uint64_t end = openwmma_processor_cycles();

	if (cause) {
		openwmma_fault fault = openwmma_take_fault();
		printf("the core failed: %s, command %" PRIu32 "\n", openwmma_cause_name(cause), fault.index);
		return 1;
	}
	cycles = openwmma_counter(offsetof(openwmma_core_t, CYCLES)) - cycles;
	busy = openwmma_counter(offsetof(openwmma_core_t, DOT_PRODUCT_CYCLES)) - busy;
	read = openwmma_counter(offsetof(openwmma_core_t, READ_BEATS)) - read;
	written = openwmma_counter(offsetof(openwmma_core_t, WRITE_BEATS)) - written;
	printf("%d x %d x %d on the core: %" PRIu64 " cycles of the processor's clock, %" PRIu64
	       " of them with commands in progress\n",
	       M, N, K, end - start, cycles);
	printf("dot-product units took operands in %" PRIu64 " cycles; %" PRIu64 " beats read, %" PRIu64 " written\n", busy,
	       read, written);
	return differences("core", results) ? 1 : 0;
}

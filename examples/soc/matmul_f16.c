// A matrix multiply in f16 with f32 results on the core, compared with the golden model, and the first tile
// on the processor, which has no floating-point unit and adds in another order:
//   openwmma soc --board ulx3s --simulate examples/soc/matmul_f16.c --data "examples/soc/matrices.py f16 32 32 32"

#include <string.h>

#include "matmul.h"

static const openwmma_types types = {
	.shape = OPENWMMA_SHAPE_M16N16K16,
	.a_type = OPENWMMA_TYPE_F16,
	.b_type = OPENWMMA_TYPE_F16,
	.c_type = OPENWMMA_TYPE_F32,
	.d_type = OPENWMMA_TYPE_F32,
};

static float from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

// The data have no infinities, no NaN and no subnormal numbers.
static float from_half(uint16_t half)
{
	if (!(half & 0x7FFF))
		return 0;
	return from_bits((uint32_t)(half & 0x8000) << 16 | (((uint32_t)half & 0x7FFF) + (112 << 10)) << 13);
}

int main(void)
{
	int code = run_on_core(&types, 8);
	float largest = 0;
	uint64_t start = openwmma_processor_cycles();

	for (unsigned row = 0; row < TILE; row++)
		for (unsigned column = 0; column < TILE; column++) {
			float sum = 0;

			for (unsigned step = 0; step < K; step++)
				sum += from_half(a[row * K + step]) * from_half(b[column * K + step]);
			float distance = sum - from_bits(expected[row * N + column]);
			if (distance < 0)
				distance = -distance;
			if (distance > largest)
				largest = distance;
		}
	printf("%d x %d x %d on the processor: %" PRIu64 " cycles\n", TILE, TILE, K, openwmma_processor_cycles() - start);
	printf("processor: results differ from the golden model by at most %d millionths\n", (int)(largest * 1e6f));
	return largest < 1e-3f ? code : 1;
}

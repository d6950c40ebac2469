// A matrix multiply in s8 on the core and on the processor, both compared with the golden model:
//   openwmma soc --board ulx3s --simulate examples/soc/matmul_s8.c --data "examples/soc/matrices.py s8 32 32 32"

#include "matmul.h"

static const openwmma_types types = {
	.shape = OPENWMMA_SHAPE_M16N16K16,
	.a_type = OPENWMMA_TYPE_S8,
	.b_type = OPENWMMA_TYPE_S8,
	.c_type = OPENWMMA_TYPE_S32,
	.d_type = OPENWMMA_TYPE_S32,
};

static uint32_t checked[M * N];

int main(void)
{
	int code = run_on_core(&types, 2);
	uint64_t start = openwmma_processor_cycles();

	for (unsigned row = 0; row < M; row++)
		for (unsigned column = 0; column < N; column++) {
			int32_t sum = 0;

			for (unsigned step = 0; step < K; step++)
				sum += a[row * K + step] * b[column * K + step];
			checked[row * N + column] = sum;
		}
	printf("%d x %d x %d on the processor: %" PRIu64 " cycles\n", M, N, K, openwmma_processor_cycles() - start);
	return differences("processor", checked) ? 1 : code;
}

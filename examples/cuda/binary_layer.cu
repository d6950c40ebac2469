// A layer of a binary network: activations and weights are +1 (bit 1) or -1 (bit 0), packed 32 to a word.
// output[i][j] = (sum over c of input[i][c] * weight[j][c]) >= threshold[j], packed in the same way.
// A block of four warps computes 8 rows and 32 outputs; grid (outputs / 32, rows / 8), block 128.
// rows is a multiple of 8, outputs of 32, inputs of 128.
#include <mma.h>
using namespace nvcuda;

constexpr int ROWS = 8;
constexpr int OUTPUTS = 32;
constexpr int STEP = 128;    // bits of one fragment along the inner dimension

extern "C" __global__ void __launch_bounds__(128)
binary_layer(const unsigned *input, const unsigned *weight, const int *threshold, unsigned *output,
             int inputs, int outputs) {
    namespace one_bit = wmma::experimental;
    __shared__ __align__(32) int unequal[ROWS][OUTPUTS];    // how many pairs of bits differ
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int words = inputs / 32;
    const unsigned *rows = input + ROWS * blockIdx.y * words;
    const unsigned *columns = weight + (OUTPUTS * blockIdx.x + 8 * warp) * words;

    wmma::fragment<wmma::matrix_a, 8, 8, STEP, one_bit::precision::b1, wmma::row_major> a_fragment;
    wmma::fragment<wmma::matrix_b, 8, 8, STEP, one_bit::precision::b1, wmma::col_major> b_fragment;
    wmma::fragment<wmma::accumulator, 8, 8, STEP, int> sum;
    wmma::fill_fragment(sum, 0);
    for (int step = 0; step < inputs; step += STEP) {
        wmma::load_matrix_sync(a_fragment, rows + step / 32, inputs);
        wmma::load_matrix_sync(b_fragment, columns + step / 32, inputs);
        wmma::bmma_sync(sum, a_fragment, b_fragment, sum, one_bit::bmmaBitOpXOR);
    }
    wmma::store_matrix_sync(&unequal[0][8 * warp], sum, OUTPUTS, wmma::mem_row_major);
    __syncthreads();

    // Equal bits multiply to +1, unequal ones to -1: the sum is inputs - 2 * unequal. A lane has one output.
    const int least = threshold[OUTPUTS * blockIdx.x + lane];
    for (int row = warp; row < ROWS; row += 4) {
        const unsigned word = __ballot_sync(0xffffffffu, inputs - 2 * unequal[row][lane] >= least);
        if (lane == 0) output[(ROWS * blockIdx.y + row) * (outputs / 32) + blockIdx.x] = word;
    }
}

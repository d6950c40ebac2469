// A quantised layer: q = clamp(round((X W^T + bias) * multiplier / 2^shift) + zero), all in integers.
// X is m x k and W is n x k, s8, row by row; bias and multiplier are s32, one for each of the n outputs; q is s8.
// A block of four warps computes 32 x 32 outputs; grid (n / 32, m / 32), block 128.
// m, n are multiples of 32, k of 16; shift is at least 1.
#include <mma.h>
using namespace nvcuda;

constexpr int TILE = 32;
constexpr int THREADS = 128;

__device__ signed char requantised(int sum, int multiplier, int shift, int zero) {
    const long long half_unit = 1ll << (shift - 1);
    const long long scaled = ((long long)sum * multiplier + half_unit) >> shift;    // halves go upwards
    return (signed char)max(-128ll, min(127ll, scaled + zero));
}

extern "C" __global__ void __launch_bounds__(THREADS)
int8_gemm(const signed char *x, const signed char *w, const int *bias, const int *multiplier, signed char *q,
          int n, int k, int shift, int zero) {
    __shared__ __align__(32) int sums[TILE][TILE];
    const int warp = threadIdx.x / 32;
    const int warp_row = 16 * (warp / 2), warp_column = 16 * (warp % 2);
    const int first_row = TILE * blockIdx.y, first_column = TILE * blockIdx.x;

    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> x_fragment;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> w_fragment;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
    wmma::fill_fragment(sum, 0);
    for (int step = 0; step < k; step += 16) {
        wmma::load_matrix_sync(x_fragment, x + (first_row + warp_row) * k + step, k);
        wmma::load_matrix_sync(w_fragment, w + (first_column + warp_column) * k + step, k);
        wmma::mma_sync(sum, x_fragment, w_fragment, sum);
    }
    wmma::store_matrix_sync(&sums[warp_row][warp_column], sum, TILE, wmma::mem_row_major);
    __syncthreads();

    // A thread requantises four neighbours in a row, and writes them with one store of four bytes.
    const int column = 4 * (threadIdx.x % 8);
    for (int row = threadIdx.x / 8; row < TILE; row += THREADS / 8) {
        signed char four[4];
        for (int i = 0; i < 4; i++) {
            const int output = first_column + column + i;
            four[i] = requantised(sums[row][column + i] + bias[output], multiplier[output], shift, zero);
        }
        *reinterpret_cast<char4 *>(&q[(first_row + row) * n + first_column + column]) =
            make_char4(four[0], four[1], four[2], four[3]);
    }
}

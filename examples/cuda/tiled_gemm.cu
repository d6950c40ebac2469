// D = A B: f16 multiplicands, f32 accumulation. A is m x k, B is k x n, D is m x n, all row by row.
// A block of four warps computes a tile of 32 x 32 of D; grid (n / 32, m / 32), block 128.
// m, n are multiples of 32, k of 16.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

constexpr int TILE = 32;       // rows and columns of D that a block computes
constexpr int STEP = 16;       // inner dimension of one fragment
constexpr int PADDING = 8;     // rows start in different banks; a stride stays a multiple of 16 bytes
constexpr int THREADS = 128;

extern "C" __global__ void __launch_bounds__(THREADS)
tiled_gemm(const half *a, const half *b, float *d, int n, int k) {
    __shared__ __align__(32) half a_tile[TILE][STEP + PADDING];
    __shared__ __align__(32) half b_tile[STEP][TILE + PADDING];
    const int thread = threadIdx.x;
    const int warp = thread / 32;
    const int warp_row = 16 * (warp / 2), warp_column = 16 * (warp % 2);
    const half *a_rows = a + TILE * blockIdx.y * k;
    const half *b_columns = b + TILE * blockIdx.x;

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_fragment;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_fragment;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);

    for (int step = 0; step < k; step += STEP) {
        // Each thread copies four neighbours, eight bytes, of either matrix.
        const int a_row = thread / 4, a_column = 4 * (thread % 4);
        const int b_row = thread / 8, b_column = 4 * (thread % 8);
        *reinterpret_cast<uint2 *>(&a_tile[a_row][a_column]) =
            *reinterpret_cast<const uint2 *>(&a_rows[a_row * k + step + a_column]);
        *reinterpret_cast<uint2 *>(&b_tile[b_row][b_column]) =
            *reinterpret_cast<const uint2 *>(&b_columns[(step + b_row) * n + b_column]);
        __syncthreads();
        wmma::load_matrix_sync(a_fragment, &a_tile[warp_row][0], STEP + PADDING);
        wmma::load_matrix_sync(b_fragment, &b_tile[0][warp_column], TILE + PADDING);
        wmma::mma_sync(sum, a_fragment, b_fragment, sum);
        __syncthreads();
    }
    float *tile = d + (TILE * blockIdx.y + warp_row) * n + TILE * blockIdx.x + warp_column;
    wmma::store_matrix_sync(tile, sum, n, wmma::mem_row_major);
}

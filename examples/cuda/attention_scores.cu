// P = softmax(Q K^T / sqrt(width)), row by row. Q is queries x width, K is keys x width, both f16; P is f32.
// A block of four warps computes 16 rows of P; grid queries / 16, block 128, dynamic shared memory 64 * keys bytes.
// queries and width are multiples of 16, keys of 32. factor is log2(e) / sqrt(width).
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

constexpr int ROWS = 16;
constexpr int WARPS = 4;
constexpr unsigned ALL = 0xffffffffu;

__device__ float exp2_approximate(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

__device__ float reciprocal_approximate(float x) {
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
attention_scores(const half *q, const half *k, float *p, int keys, int width, float factor) {
    extern __shared__ __align__(32) float scores[];    // ROWS x keys
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int first_row = ROWS * blockIdx.x;

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> q_fragment;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> k_fragment;    // a row of K is a column
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    for (int key = 16 * warp; key < keys; key += 16 * WARPS) {
        wmma::fill_fragment(sum, 0.0f);
        for (int step = 0; step < width; step += 16) {
            wmma::load_matrix_sync(q_fragment, q + first_row * width + step, width);
            wmma::load_matrix_sync(k_fragment, k + key * width + step, width);
            wmma::mma_sync(sum, q_fragment, k_fragment, sum);
        }
        wmma::store_matrix_sync(scores + key, sum, keys, wmma::mem_row_major);
    }
    __syncthreads();

    // Each warp normalises four rows; lane i has the keys i, i + 32, ...
    for (int row = warp; row < ROWS; row += WARPS) {
        float *score = scores + row * keys;
        float greatest = score[lane];
        for (int key = lane + 32; key < keys; key += 32) greatest = fmaxf(greatest, score[key]);
        for (int mask = 16; mask > 0; mask /= 2)
            greatest = fmaxf(greatest, __shfl_xor_sync(ALL, greatest, mask));
        float total = 0.0f;
        for (int key = lane; key < keys; key += 32) {
            score[key] = exp2_approximate((score[key] - greatest) * factor);
            total += score[key];
        }
        for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(ALL, total, mask);
        const float inverse = reciprocal_approximate(total);
        for (int key = lane; key < keys; key += 32) p[(first_row + row) * keys + key] = score[key] * inverse;
    }
}

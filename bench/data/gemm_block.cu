// One block of eight warps multiplies 128 x 128 tiles: each warp 32 x 64, k in steps of 32 through shared memory.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void gemm_block(const half *a, const half *b, float *d, int n, int k) {
    __shared__ __align__(32) half sa[128][40], sb[32][136];
    int warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 64;
    a += blockIdx.y * 128 * k; b += blockIdx.x * 128; d += blockIdx.y * 128 * n + blockIdx.x * 128;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][4];
    for (int i = 0; i < 2; i++) for (int j = 0; j < 4; j++) wmma::fill_fragment(acc[i][j], 0.f);
    for (int s = 0; s < k; s += 32) {
        for (int i = threadIdx.x; i < 512; i += 256) {
            *(uint4 *)&sa[i / 4][i % 4 * 8] = *(const uint4 *)&a[i / 4 * k + s + i % 4 * 8];
            *(uint4 *)&sb[i / 16][i % 16 * 8] = *(const uint4 *)&b[(s + i / 16) * n + i % 16 * 8];
        }
        __syncthreads();
        for (int t = 0; t < 32; t += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb[4];
            for (int i = 0; i < 2; i++) wmma::load_matrix_sync(fa[i], &sa[row + i * 16][t], 40);
            for (int j = 0; j < 4; j++) wmma::load_matrix_sync(fb[j], &sb[t][column + j * 16], 136);
            for (int i = 0; i < 2; i++) for (int j = 0; j < 4; j++) wmma::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++) for (int j = 0; j < 4; j++)
        wmma::store_matrix_sync(&d[(row + i * 16) * n + column + j * 16], acc[i][j], n, wmma::mem_row_major);
}

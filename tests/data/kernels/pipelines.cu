// Kernels with barriers in shared memory: cuda::barrier, cuda::pipeline and memcpy_async.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

// Sums tiles; copies of the next tile are in flight while one is summed.
extern "C" __global__ void staged_sum(const float *in, float *out, int tiles) {
    constexpr int stages = 2;
    extern __shared__ float buffer[];
    auto block = cg::this_thread_block();
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto pipe = cuda::make_pipeline(block, &state);
    const int n = blockDim.x;
    float sum = 0;
    for (int fetch = 0, tile = 0; tile < tiles; ++tile) {
        for (; fetch < tiles && fetch < tile + stages; ++fetch) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, buffer + fetch % stages * n, in + fetch * n, cuda::aligned_size_t<16>(n * sizeof(float)), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum = sum * 0.5f + buffer[tile % stages * n + n - 1 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

// One half of the block produces, the other consumes.
extern "C" __global__ void producers_and_consumers(const int *in, int *out, int rounds) {
    __shared__ int slots[2][32];
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> ready[2], empty[2];
    auto block = cg::this_thread_block();
    if (block.thread_rank() < 2) {
        init(&ready[block.thread_rank()], block.size());
        init(&empty[block.thread_rank()], block.size());
    }
    block.sync();
    const int half = block.size() / 2, rank = block.thread_rank();
    if (rank < half) {
        for (int i = 0; i < rounds; ++i) {
            empty[i & 1].arrive_and_wait();
            slots[i & 1][rank & 31] = in[i * half + rank];
            auto token = ready[i & 1].arrive();
        }
    } else {
        auto first = empty[0].arrive();
        auto second = empty[1].arrive();
        int sum = 0;
        for (int i = 0; i < rounds; ++i) {
            ready[i & 1].arrive_and_wait();
            sum = sum * 3 + slots[i & 1][(rank - half) ^ 1];
            if (i + 2 < rounds) auto token = empty[i & 1].arrive();
        }
        out[rank - half] = sum;
    }
}

#if __CUDA_ARCH__ < 900  // compiles to bulk copies from there on
// A barrier that counts the bytes of copies, and one from which threads drop out.
extern "C" __global__ void counted(const int4 *in, int *out) {
    __shared__ alignas(16) int4 tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], cuda::aligned_size_t<16>(sizeof(int4)), bar);
    bar.arrive_and_wait();
    int sum = tile[63 - threadIdx.x].x + tile[threadIdx.x ^ 5].w;
    if (threadIdx.x >= 32) {
        out[threadIdx.x] = sum;
        bar.arrive_and_drop();
        return;
    }
    bar.arrive_and_wait();
    for (int i = 0; i < 3; ++i) {
        tile[threadIdx.x].y = sum;
        bar.arrive_and_wait();
        sum += tile[(threadIdx.x + 1) & 31].y;
        bar.arrive_and_wait();
    }
    out[threadIdx.x] = sum;
}

#endif

extern "C" __global__ void groups(const int *in, int *out, int n) {
    extern __shared__ int words[];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    cg::memcpy_async(block, words, in, n * sizeof(int));
    cg::wait(block);
    int sum = 0;
    for (int i = tile.thread_rank(); i < n; i += 32) sum += words[i] * (tile.meta_group_rank() + 1);
    for (int offset = 16; offset; offset /= 2) sum += tile.shfl_down(sum, offset);
    if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = sum;
}

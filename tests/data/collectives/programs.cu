// Divergence, collectives and barriers as CUDA programs have them; blocks of 64 threads unless noted.
// programs.ptx is made from it by `nvcc -arch=sm_90 -O2 -ptx`, CUDA 13.0, without comments. words.npz has what an
// H200 left in `o`, and what it left of the kernels that tests/golden/simt/test_simt_collectives.py writes.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
typedef unsigned u32;
#define K extern "C" __global__ void
K tiled16_reduce(u32 *o, const u32 *in) {
  auto t = cg::tiled_partition<16>(cg::this_thread_block());
  u32 v = in[threadIdx.x];
  o[threadIdx.x] = cg::reduce(t, v, cg::plus<u32>());
  o[64 + threadIdx.x] = cg::reduce(t, v, cg::less<u32>());
  o[128 + threadIdx.x] = cg::reduce(t, v, cg::bit_xor<u32>());
}
K tiled8_votes(u32 *o, const u32 *in) {
  auto t = cg::tiled_partition<8>(cg::this_thread_block());
  u32 v = in[threadIdx.x];
  o[threadIdx.x] = t.ballot(v & 1) | t.any(v & 16) << 16 | t.all(v & 3) << 17;
  o[64 + threadIdx.x] = t.shfl(v, 3) ^ t.shfl_xor(v, 5) ^ t.shfl_down(v, 2) ^ t.shfl_up(v, 1);
  o[128 + threadIdx.x] = t.match_any(v & 3);
}
K tiled4_diverged(u32 *o, const u32 *in) {
  auto t = cg::tiled_partition<4>(cg::this_thread_block());
  u32 v = in[threadIdx.x], r;
  if (t.meta_group_rank() & 1) { r = cg::reduce(t, v, cg::plus<u32>()); t.sync(); r += t.shfl(r ^ v, 1); }
  else { r = t.match_any(v & 1); t.sync(); r ^= t.ballot(v & 2) << 8; }
  o[threadIdx.x] = r;
}
K coalesced_sum(u32 *o, const u32 *in) {
  u32 v = in[threadIdx.x], r = 0;
  if (v & 1) { auto g = cg::coalesced_threads(); r = cg::reduce(g, v, cg::plus<u32>()) + g.size() * 1000000 + g.thread_rank() * 100000000; }
  o[threadIdx.x] = r;
}
K coalesced_shfl(u32 *o, const u32 *in) {
  u32 v = in[threadIdx.x], r = 7;
  if (v % 3) { auto g = cg::coalesced_threads(); r = g.shfl(v, 0) * 65536 + g.shfl_down(v, 1) % 256 + (g.shfl_up(v, 1) % 256) * 256; }
  o[threadIdx.x] = r;
}
K labeled(u32 *o, const u32 *in) {
  u32 v = in[threadIdx.x];
  auto g = cg::labeled_partition(cg::coalesced_threads(), v % 5);
  o[threadIdx.x] = cg::reduce(g, v, cg::plus<u32>());
  o[64 + threadIdx.x] = g.size() * 256 + g.thread_rank();
}
K labeled_diverged(u32 *o, const u32 *in) {
  u32 v = in[threadIdx.x], r = 5;
  if (threadIdx.x % 7 != 2) {
    auto g = cg::labeled_partition(cg::coalesced_threads(), v % 3);
    for (u32 i = 0; i < 1 + v % 3; i++) { r += cg::reduce(g, v + i, cg::plus<u32>()); g.sync(); r = g.shfl(r, 0) + v; }
  }
  o[threadIdx.x] = r;
}
K binary(u32 *o, const u32 *in) {
  u32 v = in[threadIdx.x];
  auto g = cg::binary_partition(cg::tiled_partition<32>(cg::this_thread_block()), v & 4);
  o[threadIdx.x] = cg::reduce(g, v, cg::greater<u32>()) + g.size();
}
K aggregated_atomic(u32 *o, const u32 *in) {
  u32 v = in[threadIdx.x];
  if (v & 2) {
    auto g = cg::coalesced_threads(); u32 base;
    if (g.thread_rank() == 0) base = atomicAdd(o, g.size());
    base = g.shfl(base, 0) + g.thread_rank();
    if (threadIdx.x < 32) o[1 + base % 64] = v;   // warp order matters only across warps
  }
}
K syncwarp_loop(u32 *o, const u32 *in) {
  __shared__ u32 s[64]; u32 t = threadIdx.x; s[t] = in[t]; __syncwarp();
  for (int d = 16; d; d >>= 1) { u32 x = s[t ^ d]; __syncwarp(); s[t] += x; __syncwarp(); }
  o[t] = s[t];
}
K syncwarp_branches(u32 *o, const u32 *in) {
  __shared__ u32 s[64]; u32 t = threadIdx.x, l = t & 31;
  if (l < 16) { s[t] = in[t] * 3; __syncwarp(); o[t] = s[t ^ 16]; }
  else { s[t] = in[t] + 5; __syncwarp(); o[t] = s[t ^ 16] + 1; }
}
K syncwarp_halves(u32 *o, const u32 *in) {
  __shared__ u32 s[64]; u32 t = threadIdx.x, l = t & 31, m = l < 16 ? 0xffffu : 0xffff0000u;
  for (u32 i = 0; i < (l < 16 ? 3u : 6u); i++) { s[t] = in[t] + i + o[64 + t]; __syncwarp(m); u32 x = s[t ^ 1]; __syncwarp(m); o[64 + t] = x; }
  o[t] = s[t];
}
K named_partial(u32 *o, const u32 *in) {   // block 128
  __shared__ u32 s[128]; u32 t = threadIdx.x; s[t] = in[t & 63] + t;
  if (t < 64) { asm volatile("bar.sync 1, 64;" ::: "memory"); o[t] = s[63 - t]; }
  else { asm volatile("bar.sync 2, 64;" ::: "memory"); o[t] = s[191 - t]; }
}
K producer_consumer(u32 *o, const u32 *in) {  // block 64
  __shared__ u32 s[32]; u32 t = threadIdx.x, r = 0;
  if (t < 32) for (int i = 0; i < 10; i++) { s[t] = in[t] * i; asm volatile("bar.arrive 1, 64;" ::: "memory"); asm volatile("bar.sync 2, 64;" ::: "memory"); }
  else for (int i = 0; i < 10; i++) { asm volatile("bar.sync 1, 64;" ::: "memory"); r += s[63 - t]; asm volatile("bar.arrive 2, 64;" ::: "memory"); }
  o[t] = r;
}
K early_exit_barrier(u32 *o, const u32 *in) { // block 96
  __shared__ u32 s[96]; u32 t = threadIdx.x; s[t] = 0;
  if (in[t & 63] % 5 == 0) return;
  s[t] = t; __syncthreads(); o[t] = s[95 - t] + 1; __syncthreads(); s[t] = 2 * t; __syncthreads(); o[t] += s[(t + 32) % 96];
}
K early_exit_collective(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, v = in[t]; if (v % 3 == 0) return;
  o[t] = __ballot_sync(0xffffffff, v & 1); o[64 + t] = __reduce_add_sync(0xffffffff, v); o[128 + t] = __match_any_sync(0xffffffff, v & 3);
}
K exit_while_waiting(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, l = t & 31;
  if (l >= 24) { u32 x = in[t]; for (u32 i = 0; i < 50 + l; i++) x = x * 1664525 + 1013904223; o[t] = x; return; }
  o[t] = __reduce_add_sync(0xffffffff, in[t]);
}
K barrier_counts(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, v = in[t];
  o[t] = __syncthreads_count(v & 1) + 100 * __syncthreads_and(v < 5000) + 1000 * __syncthreads_or(v == in[5]);
}
K barrier_vote_counts(u32 *o, const u32 *in) {  // one warp polls while the other counts in registers
  u32 t = threadIdx.x, n = 0;
  if (t < 32) { while (!__syncthreads_or(0)) n++; }
  else { for (u32 i = 0;; i++) { if (__syncthreads_or(i == 200)) break; } n = 1; }
  o[t] = n;
}
K barrier_poll_unchanged(u32 *o, const u32 *in) { // the poller keeps nothing
  u32 t = threadIdx.x;
  if (t < 32) { while (!__syncthreads_or(0)) ; }
  else { for (u32 i = 0;; i++) { if (__syncthreads_or(i == 200)) break; } }
  o[t] = t;
}
K ballot_poll(u32 *o, const u32 *in) { // half of a warp counts, the other half polls
  u32 t = threadIdx.x, l = t & 31;
  if (l < 16) { while (!__any_sync(0xffffffff, 0)) ; }
  else { for (u32 i = 0;; i++) if (__any_sync(0xffffffff, i == 100 + (t >> 5))) break; }
  o[t] = t + 1;
}
K match_dedupe(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, key = in[t] % 6, m = __match_any_sync(0xffffffff, key);
  if ((t & 31) == __ffs(m) - 1) atomicAdd(o + 192 + key, __popc(m));
  o[t] = m; int p; o[64 + t] = __match_all_sync(m, key, &p) + p;
}
K match_groups_reduce(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, v = in[t], m = __match_any_sync(0xffffffff, v & 3);
  o[t] = __reduce_add_sync(m, v); o[64 + t] = __reduce_max_sync(m, v) ^ __reduce_min_sync(m, v);
  o[128 + t] = __reduce_or_sync(m, v) ^ __reduce_and_sync(m, v) << 8 ^ __reduce_xor_sync(m, v);
}
K warp_queue(u32 *o, const u32 *in) { // loop with shrinking active set
  u32 t = threadIdx.x, v = in[t] % 9, r = 0, active = 0xffffffff;
  while (true) {
    active = __ballot_sync(active, v > 0); if (!(active >> (t & 31) & 1)) break;
    r += __reduce_add_sync(active, v); v--;
  }
  o[t] = r;
}
K segmented_scan(u32 *o, const u32 *in) {
  auto t = cg::tiled_partition<16>(cg::this_thread_block());
  o[threadIdx.x] = cg::inclusive_scan(t, in[threadIdx.x], cg::plus<u32>());
  o[64 + threadIdx.x] = cg::exclusive_scan(t, in[threadIdx.x], cg::plus<u32>());
}
K different_loops(u32 *o, const u32 *in) { // tiles of 8 with trip counts of their own
  auto t = cg::tiled_partition<8>(cg::this_thread_block()); u32 v = in[threadIdx.x], r = 0;
  u32 n = t.shfl(v, 0) % 7;
  for (u32 i = 0; i < n; i++) { r += t.shfl(v + i, i & 7); if (t.any(r % 11 == 0)) break; }
  o[threadIdx.x] = r;
}
K spin_lock(u32 *o, const u32 *in) { // block 64: o[0] lock
  bool done = false;
  while (!done) if (atomicCAS(o, 0, 1) == 0) { o[1] += in[threadIdx.x]; __threadfence(); atomicExch(o, 0); done = true; }
}
K flag_between_lanes(u32 *o, const u32 *in) {
  volatile u32 *f = o + 128; u32 t = threadIdx.x;
  if ((t & 31) == 0) { while (f[t >> 5] == 0) ; o[t] = f[t >> 5]; }
  else if ((t & 31) == 31) f[t >> 5] = 5 + t;
  __syncwarp(); o[64 + t] = t;
}
K nested_branches(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, l = t & 31, r;
  u32 m4 = 15u << (l & ~3u);
  if (l & 16) { if (l & 8) r = __shfl_xor_sync(m4, in[t], 1); else { if (l & 4) r = __shfl_xor_sync(m4, in[t], 2); else r = __shfl_xor_sync(m4, in[t], 3); } }
  else r = __reduce_add_sync(m4, in[t]);
  o[t] = r;
}
K switch_collectives(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, l = t & 31, m = 0xffu << (l & 24), r = 0;
  switch (l >> 3) {
    case 0: r = __ballot_sync(m, in[t] & 1); break;
    case 1: r = __reduce_add_sync(m, in[t]); break;
    case 2: r = __match_any_sync(m, in[t] & 1); break;
    default: r = __shfl_sync(m, in[t], l ^ 7);
  }
  o[t] = r;
}
K same_collective_two_sides(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, l = t & 31;
  if (l & 1) { u32 x = in[t] * 7; o[t] = __ballot_sync(0xffffffff, x & 1) + 1; }
  else { u32 x = in[t] + 3; for (u32 i = 0; i < l; i++) x = x * 3 + 1; o[t] = __ballot_sync(0xffffffff, x & 1); }
}
K reduce_two_sides(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, l = t & 31;
  if (l % 3 == 0) o[t] = __reduce_add_sync(0xffffffff, in[t]) + 1000; else o[t] = __reduce_add_sync(0xffffffff, in[t] * 2);
}
K shfl_two_sides(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, l = t & 31;
  if (l < 13) o[t] = __shfl_sync(0xffffffff, in[t], (l + 9) & 31) + 1000; else o[t] = __shfl_sync(0xffffffff, in[t] * 2, (l + 5) & 31);
}
K match_two_sides(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, l = t & 31;
  if (l & 2) o[t] = __match_any_sync(0xffffffff, in[t] & 3) ^ 1; else o[t] = __match_any_sync(0xffffffff, in[t] & 3);
}
K partial_warp(u32 *o, const u32 *in) { // block 45
  u32 t = threadIdx.x, v = in[t];
  o[t] = __reduce_add_sync(0xffffffff, v); o[64 + t] = __ballot_sync(0xffffffff, v & 1);
  o[128 + t] = __shfl_down_sync(0xffffffff, v, 1, 4);
}
K partial_named(u32 *o, const u32 *in) { // block 45
  __shared__ u32 s[64]; u32 t = threadIdx.x; s[t] = in[t];
  if (t & 1) { asm volatile("bar.sync 1, 64;" ::: "memory"); o[t] = s[44 - t]; } else { s[t] += 1; asm volatile("bar.sync 1, 64;" ::: "memory"); o[t] = s[44 - t] * 2; }
}
K exited_named(u32 *o, const u32 *in) { // block 64, lanes 0-15 of warp 0 leave
  __shared__ u32 s[64]; u32 t = threadIdx.x; s[t] = in[t]; if (t < 16) return;
  asm volatile("bar.sync 1, 64;" ::: "memory"); o[t] = s[79 - t];
}
K arrive_then_exit(u32 *o, const u32 *in) { // block 64
  __shared__ u32 s[32]; u32 t = threadIdx.x;
  if (t < 32) { s[t] = in[t]; asm volatile("bar.arrive 1, 64;" ::: "memory"); return; }
  asm volatile("bar.sync 1, 64;" ::: "memory"); o[t] = s[63 - t];
}
K barrier_in_divergent_loop(u32 *o, const u32 *in) { // block 64: warps pass a named barrier of their own, different counts
  u32 t = threadIdx.x, r = 0, n = 3 + (t >> 5) * 4;
  for (u32 i = 0; i < n; i++) { asm volatile("bar.sync %0, 32;" :: "r"(1 + (t >> 5)) : "memory"); r += __reduce_add_sync(0xffffffff, i + t); }
  o[t] = r;
}
K elect_groups(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, l = t & 31, m = l < 10 ? 0x3ffu : l < 25 ? 0x1fffc00u : 0xfe000000u, lead, p;
  asm volatile("{.reg .pred q; elect.sync %0|q, %2; selp.u32 %1, 1, 0, q;}" : "=r"(lead), "=r"(p) : "r"(m));
  o[t] = lead * 2 + p;
}
K vote_uni_groups(u32 *o, const u32 *in) {
  u32 t = threadIdx.x, l = t & 31, m = l < 10 ? 0x3ffu : l < 25 ? 0x1fffc00u : 0xfe000000u, a;
  asm volatile("{.reg .pred p, q; setp.lt.u32 p, %1, 25; vote.sync.uni.pred q, p, %2; selp.u32 %0, 1, 0, q;}" : "=r"(a) : "r"(l), "r"(m));
  o[t] = a; o[64 + t] = __all_sync(m, in[t] & 3) + 2 * __any_sync(m, in[t] == in[t | 31]);
}
K shfl_beyond_mask(u32 *o, const u32 *in) { // undefined: read of a lane outside of the mask
  u32 t = threadIdx.x, l = t & 31, m = l < 16 ? 0xffffu : 0xffff0000u;
  o[t] = __shfl_xor_sync(m, in[t], 16); o[64 + t] = __shfl_down_sync(m, in[t], 3);
}
K shfl_partial(u32 *o, const u32 *in) { // block 45, undefined: read of a lane that does not exist
  u32 t = threadIdx.x; o[t] = __shfl_down_sync(0xffffffff, in[t], 5); o[64 + t] = __shfl_xor_sync(0xffffffff, in[t], 16);
}
K shfl_inactive(u32 *o, const u32 *in) { // undefined: read of lanes that have left
  u32 t = threadIdx.x; if (in[t] % 3 == 0) return; o[t] = __shfl_down_sync(0xffffffff, in[t], 1);
}

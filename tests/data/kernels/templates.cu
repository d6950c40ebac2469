// The kernels of templates.json: library headers as CUDA programmers use them. templates.ptx is what NVRTC 12.9 makes of
// them for sm_90a, cut to what the kernels use; templates_atomic.ptx is nvcc 13.0's with ATOMICS_OF_16_BYTES
// and the headers of CCCL 13.3: those of 12.9 do not compile them.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cuda/atomic>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/expected>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;
namespace s = cuda::std;
using u8 = unsigned char;
using u32 = unsigned;
using u64 = unsigned long long;
#define K(name) extern "C" __global__ void name(const void* in_, void* out_, int n)
#define IN(T) const T* in = (const T*)in_
#define OUT(T) T* out = (T*)out_

__device__ int gid() {
  return threadIdx.x + blockDim.x * blockIdx.x;
}

K(label) {
  IN(int);
  OUT(int);
  int v = in[gid()];
  int* o = out + gid() * 12;
  auto t = cg::tiled_partition<32>(cg::this_thread_block());
  auto g = cg::labeled_partition(t, v % 3);
  o[0] = g.size();
  o[1] = g.thread_rank();
  o[2] = cg::reduce(g, v, cg::plus<int>());
  o[3] = g.meta_group_rank();
  o[4] = g.meta_group_size();
  auto h = cg::binary_partition(t, v > 7);
  o[5] = h.size();
  o[6] = h.thread_rank();
  o[7] = cg::inclusive_scan(h, v, cg::less<int>());
  o[8] = h.meta_group_rank();
  auto c = cg::binary_partition(g, v & 1);
  o[9] = c.size();
  o[10] = c.shfl(v, c.size() - 1);
  o[11] = cg::invoke_one_broadcast(t, [&] { return atomicAdd(&o[11], 5) + 7; });
}

K(coal) {
  IN(int);
  OUT(int);
  int v = in[gid()];
  int* o = out + gid() * 12;
  if (v & 1) {
    auto g = cg::coalesced_threads();
    o[0] = g.size();
    o[1] = g.thread_rank();
    o[2] = cg::reduce(g, v, cg::plus<int>());
    o[3] = cg::inclusive_scan(g, v);
    o[4] = g.shfl(v, 0);
    o[5] = g.ballot(v > 5);
    o[6] = cg::exclusive_scan(g, v, cg::plus<int>());
    if (v & 2) {
      auto h = cg::coalesced_threads();
      o[7] = h.size();
      o[8] = cg::reduce(h, v, cg::greater<int>());
      auto q = cg::tiled_partition(h, 4);
      o[9] = q.size() * 100 + q.thread_rank();
      o[10] = q.meta_group_size() * 100 + q.meta_group_rank();
    }
  }
  else {
    auto g = cg::coalesced_threads();
    o[0] = -(int)g.size();
    o[1] = g.shfl_up(v, 1);
    o[2] = g.any(v == n);
    o[3] = g.match_any(v);
  }
}

K(rld) {
  IN(u32);
  OUT(u32);
  using D = cub::BlockRunLengthDecode<u32, 64, 2, 4>;
  __shared__ typename D::TempStorage s;
  u32 v[2], l[2];
  for (int i = 0; i < 2; i++) {
    v[i] = gid() * 2 + i;
    l[i] = in[gid() * 2 + i];
  }
  u32 total;
  D d(s, v, l, total);
  for (u32 at = 0; at < total; at += 256) {
    u32 w[4], r[4];
    d.RunLengthDecode(w, r, at);
    for (int i = 0; i < 4; i++) if (at + threadIdx.x * 4 + i < total) out[blockIdx.x * 4096 + at + threadIdx.x * 4 + i] = w[i] << 8 | r[i];
    __syncthreads();
  }
}

template <class T, class V, int B, int I, int RB, bool MEMO, cub::BlockScanAlgorithm A> __device__ void rs(const void* in_, void* out_, int n) {
  IN(T);
  OUT(T);
  using S = cub::BlockRadixSort<T, B, I, V, RB, MEMO, A>;
  __shared__ typename S::TempStorage s;
  T k[I];
  V v[I];
  for (int i = 0; i < I; i++) {
    k[i] = in[(blockIdx.x * B + threadIdx.x) * I + i];
    v[i] = V(threadIdx.x * I + i);
  }
  int lo = n >= 0 ? n % 8 : 0, hi = n >= 0 ? sizeof(T) * 8 - n % 5 : sizeof(T) * 8;
  if (n & 1) S(s).Sort(k, v, lo, hi);
  else if (n & 2) S(s).SortDescending(k, v, lo, hi);
  else if (n & 4) S(s).SortBlockedToStriped(k, v, lo, hi);
  else S(s).SortDescendingBlockedToStriped(k, v, lo, hi);
  V* ov = (V*)(out + gridDim.x * B * I);
  for (int i = 0; i < I; i++) {
    int at = (blockIdx.x * B + threadIdx.x) * I + i;
    out[at] = k[i];
    ov[at] = v[i];
  }
}
K(rs_h) {
  rs<__half, int, 64, 3, 4, true, cub::BLOCK_SCAN_WARP_SCANS>(in_, out_, n);
}

K(pipe) {
  IN(int4);
  OUT(int4);
  constexpr int ST = 3;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, ST> ss;
  __shared__ int4 s[ST][64];
  auto g = cg::this_thread_block();
  auto p = cuda::make_pipeline(g, &ss);
  int f = 0;
  for (int c = 0; c < n * 2; c++) {
    for (; f < n * 2 && f < c + ST; f++) {
      p.producer_acquire();
      cuda::memcpy_async(g, s[f % ST], in + f * 64, cuda::aligned_size_t<16>(1024), p);
      p.producer_commit();
    }
    p.consumer_wait();
    for (int i = threadIdx.x; i < 64; i += blockDim.x) {
      int4 v = s[c % ST][i ^ 5];
      v.x ^= c;
      out[(blockIdx.x * 8 + c) * 64 + i] = v;
    }
    p.consumer_release();
  }
}

struct Vis {
  __device__ int operator()(int x) const {
    return x * 2;
  }
  __device__ int operator()(float x) const {
    return (int)(x * 10);
  }
  __device__ int operator()(const s::array<short, 5>& x) const {
    return x[1] + x[4];
  }
};

K(vrn) {
  IN(int);
  OUT(int);
  int v = in[gid()];
  s::variant<int, float, s::array<short, 5>> w;
  if (v % 3 == 0) w = v;
  else if (v % 3 == 1) w = v * 0.7f;
  else w = s::array<short, 5>{1, (short)v, 3, 4, (short)(v * 5)};
  int* o = out + gid() * 16;
  o[0] = s::visit(Vis{}, w);
  o[1] = w.index();
  o[2] = s::holds_alternative<float>(w);
  s::optional<int> q;
  if (v > 0) q = v;
  o[3] = q.value_or(-9);
  o[4] = q.has_value();
  auto t = s::make_tuple(v, 2.5f, (char)v, s::make_pair(n, v * n));
  o[5] = s::get<3>(t).second + s::get<2>(t);
  o[6] = s::apply([](int a, float b, char c, s::pair<int, int> d) { return (int)(a * b) + c * d.first; }, t);
  s::expected<int, short> e = v > 20 ? s::expected<int, short>(v) : s::expected<int, short>(s::unexpected<short>(-v));
  o[7] = e ? *e : e.error() * 1000;
  s::tuple<int, int> p1(v, 3), p2(n, v);
  o[8] = p1 < p2;
  s::tie(o[9], o[10]) = p2;
  auto z = s::tuple_cat(p1, p2);
  o[11] = s::get<3>(z);
  s::span<const int> sp(in + gid(), 7);
  int a = 0;
  for (int x : sp.subspan(2, 4)) a = a * 3 + x;
  o[12] = a;
  o[13] = sp.last(2)[0];
  s::mdspan<const int, s::extents<int, 4, s::dynamic_extent>, s::layout_left> md(in, 9);
  o[15] = md(v & 3, n) + md.extent(1) * 1000;
}

__device__ __noinline__ void qs(int* a, int l, int r) {
  if (l >= r) return;
  int p = a[(l + r) / 2], i = l, j = r;
  while (i <= j) {
    while (a[i] < p) i++;
    while (a[j] > p) j--;
    if (i <= j) {
      int t = a[i];
      a[i++] = a[j];
      a[j--] = t;
    }
  }
  qs(a, l, j);
  qs(a, i, r);
}

K(quick) {
  IN(int);
  OUT(int);
  int a[16];
  for (int i = 0; i < 16; i++) a[i] = in[(gid() * 16 + i) & 4095];
  qs(a, 0, 15);
  for (int i = 0; i < 16; i++) out[gid() * 16 + i] = a[i];
}

struct Node {
  int v;
  const Node* next;
  float w[2];
};
extern __device__ const Node n1;
__device__ const Node n3 = {7, nullptr, {1.5f, -2.f}
};
__device__ const Node n2 = {5, &n3, {0.25f, 3.f}
};
__device__ const Node n1 = {3, &n2, {9.f, 1e-3f}
};
__constant__ Node cn = {11, &n1, {2.f, 3.f}
};
__constant__ struct {
char a;
short b;
double c;
const char* s;
int arr[5];
}
cs = {'x', -5, 3.25, "hello constant", {1, 2, 3, 4, 5}
};
__device__ int grid_counter = 42;
__device__ volatile float fl[4] = {1, 2, 3, 4};
__device__ const char* const strs[3] = {"alpha", "be", "gamma-ray"};

K(glob) {
  IN(u32);
  OUT(int);
  int s = 0;
  float f = 0;
  for (const Node* p = &cn; p; p = p->next) {
    s = s * 10 + p->v;
    f += p->w[s & 1];
  }
  int* o = out + gid() * 10;
  o[0] = s;
  ((float*)o)[1] = f;
  o[2] = cs.a + cs.b;
  ((float*)o)[3] = cs.c;
  o[4] = cs.s[in[gid()] % 14];
  o[5] = cs.arr[in[gid()] % 5];
  const char* t = strs[in[gid()] % 3];
  int l = 0;
  while (t[l]) l++;
  o[6] = l * 1000 + t[1];
  o[7] = fl[in[gid()] & 3] * 3;
  o[8] = (n == 99);
}

struct Base {
  int k;
  __device__ Base(int k) : k(k) {
  }
  __device__ virtual int f(int x) const {
    return x + k;
  }
  __device__ virtual float g(float x) const {
    return x * k;
  }
};

struct D1 : Base {
  using Base::Base;
  __device__ int f(int x) const override {
    return x * k - 1;
  }
};

struct D2 : D1 {
  short z[3];
  __device__ D2(int k) : D1(k) {
    z[0] = k;
    z[1] = -k;
    z[2] = 7;
  }
  __device__ float g(float x) const override {
    return D1::g(x) + z[1];
  }
};

K(virt) {
  IN(int);
  OUT(int);
  Base a(n);
  D1 b(n + 1);
  D2 c(n + 2);
  const Base* t[3] = {&a, &b, &c};
  int v = in[gid()];
  const Base* p = t[(unsigned)v % 3];
  out[gid() * 2] = p->f(v);
  ((float*)out)[gid() * 2 + 1] = p->g(v * 0.5f);
}

#ifdef ATOMICS_OF_16_BYTES
struct alignas(16) Q {
  u64 a, b;
};

K(a_q) {
  IN(int);
  OUT(Q);
  cuda::atomic_ref<Q, cuda::thread_scope_device> r(out[0]);
  Q e = r.load(), w;
  do {
    w = Q{
      e.a + in[gid()], e.b * 3 + 1
    }
    ;
  }
  while (!r.compare_exchange_weak(e, w));
}

K(a_qx) {
  IN(int);
  OUT(Q);
  cuda::atomic_ref<Q, cuda::thread_scope_device> r(out[threadIdx.x]);
  if (blockIdx.x == 0) {
    r.store(Q{7, (u64)in[threadIdx.x]});
    Q o = r.exchange(Q{1, (u64)in[gid()]});
    out[100 + threadIdx.x] = o;
  }
}
#endif

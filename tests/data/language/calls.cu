// Calls as nvcc emits them: recursion, pointers to functions, tables, virtual functions, variable arguments.
#include <cstdio>
typedef unsigned int u32;
extern "C" {
__device__ __noinline__ u32 fib(u32 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ u32 is_odd(u32 n);
__device__ __noinline__ u32 is_even(u32 n) { return n == 0 ? 1 : is_odd(n - 1); }
__device__ __noinline__ u32 is_odd(u32 n) { return n == 0 ? 0 : is_even(n - 1); }
__device__ __noinline__ u32 ackermann(u32 m, u32 n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
struct Node { int key, left, right; float weight; };
__device__ __noinline__ float tree_sum(const Node *nodes, int at, int depth) {
    if (at < 0) return 0.0f;
    int path[4];
    for (int i = 0; i < 4; i++) path[i] = nodes[at].key * (i + 1) + depth;
    float below = tree_sum(nodes, nodes[at].left, depth + 1) + tree_sum(nodes, nodes[at].right, depth + 2);
    return below + nodes[at].weight * path[depth & 3];
}
typedef float (*Unary)(float, int);
__device__ __noinline__ float twice(float x, int) { return x * 2.0f; }
__device__ __noinline__ float shifted(float x, int i) { return x + i; }
__device__ __noinline__ float power(float x, int i) { return i <= 0 ? 1.0f : x * power(x, i - 1); }
__device__ __noinline__ float summed(float x, int) {
    for (int offset = 1; offset < 4; offset *= 2) x += __shfl_xor_sync(__activemask(), x, offset);
    return x;
}
__device__ Unary in_global[4] = {twice, shifted, power, twice};
__constant__ Unary in_constant[3] = {power, twice, shifted};
__global__ void recursion(u32 *out, const u32 *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 x = in[i];
    out[i] = fib(x % 12) * 1000003u + is_even(x % 23) * 4 + is_odd(x % 17) * 2 + ackermann(x % 3, x % 5);
}
__global__ void trees(float *out, const Node *nodes, const int *roots, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tree_sum(nodes, roots[i], i & 3);
}
__global__ void tables(float *out, const float *in, const int *choice, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    x = in_global[choice[i] & 3](x, i & 7);
    x = in_constant[choice[i] % 3](x, i & 3);
    if (choice[i] & 8) x = in_global[(choice[i] >> 4) & 3](x, 2);
    out[i] = x;
}
__global__ void pointer_argument(float *out, Unary *where, int n) {
    int i = threadIdx.x;
    if (blockIdx.x == 0 && i < 4) where[i] = i == 0 ? twice : i == 1 ? shifted : i == 2 ? power : summed;
    __syncthreads();
    if (i < n) out[i] = where[i & 3]((float)i, i & 3);
}
}
struct Shape {
    float scale;
    __device__ Shape(float s) : scale(s) {}
    __device__ virtual float area(float x) const = 0;
    __device__ virtual float edge(float x) const { return scale + x; }
};
struct Square : Shape {
    __device__ Square(float s) : Shape(s) {}
    __device__ float area(float x) const override { return scale * x * x; }
};
struct Circle : Shape {
    float centre[3];
    __device__ Circle(float s) : Shape(s) { for (int i = 0; i < 3; i++) centre[i] = s + i; }
    __device__ float area(float x) const override { return 3.0f * scale * x + centre[2]; }
    __device__ float edge(float x) const override { return Shape::edge(x) * centre[1]; }
};
extern "C" __global__ void virtual_functions(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Square square(in[i]);
    Circle circle(in[i] + 1.0f);
    const Shape *shape = (i % 3 == 0) ? (const Shape *)&square : (const Shape *)&circle;
    out[i] = shape->area(2.0f) + 16.0f * shape->edge(1.0f);
    if (i == 0) printf("%d %f %s\n", i, out[i], "text");
}
template <class F> __device__ __noinline__ float folded(F f, float x, int depth) {
    return depth == 0 ? f(x) : f(folded(f, x + 0.5f, depth - 1));
}
struct Big { int v[5]; };
__device__ __noinline__ Big turned(Big b, int n) {
    if (n == 0) return b;
    Big r;
    for (int i = 0; i < 5; i++) r.v[i] = b.v[(i + 1) % 5] + n;
    return turned(r, n - 1);
}
extern "C" __global__ void structures(int *out, const int *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float k = in[i] % 7;
    Big b;
    for (int j = 0; j < 5; j++) b.v[j] = in[i] + j * j;
    Big t = turned(b, in[i] & 7);
    float y = folded([=](float x) { return x * 0.5f + k; }, 1.0f, in[i] & 3);
    out[i] = ((t.v[0] * 3 + t.v[1]) * 3 + t.v[2]) * 3 + t.v[3] - t.v[4] + (int)(16.0f * y);
}
__device__ __noinline__ u32 collatz(u32 x, u32 steps, u32 *most) {
    u32 *words = (u32 *)alloca(4 * (1 + x % 5));
    for (u32 i = 0; i <= x % 5; i++) words[i] = x * i + steps;
    if (x == 1) return steps;
    u32 below = collatz(x & 1 ? 3 * x + 1 : x / 2, steps + 1, most);
    u32 total = 0;
    for (u32 i = 0; i <= x % 5; i++) total += words[i];
    *most = max(*most, total);
    return below;
}
extern "C" __global__ void dynamic_stack(u32 *out, const u32 *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 most = 0;
    u32 steps = collatz(1 + in[i] % 26, 0, &most);
    out[i] = steps + 65536 * (most & 0xffff);
}
__device__ __noinline__ u32 partial_sum(u32 level, u32 *shared) {
    __syncthreads();
    u32 x = shared[threadIdx.x ^ (1u << level)];
    __syncthreads();
    shared[threadIdx.x] += x;
    return level == 0 ? shared[threadIdx.x] : partial_sum(level - 1, shared) + level;
}
extern "C" __global__ void barriers(u32 *out, const u32 *in) {
    __shared__ u32 shared[64];
    shared[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = partial_sum(5, shared);
}

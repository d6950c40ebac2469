// Two GEMM kernels of CUTLASS: D = A B, A row-major and B column-major in f16, D row-major in f32.
// Both compute a tile of 64 x 64 with four warps of 32 x 32, the inner dimension in steps of 32.

#include <cutlass/cutlass.h>
#include <cutlass/gemm/kernel/default_gemm.h>

using ThreadblockShape = cutlass::gemm::GemmShape<64, 64, 32>;
using WarpShape = cutlass::gemm::GemmShape<32, 32, 32>;
using Swizzle = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>;
using Epilogue = cutlass::epilogue::thread::LinearCombination<float, 4, float, float>;

template <typename OperatorClass, typename Architecture, typename InstructionShape, int Stages>
using Gemm = typename cutlass::gemm::kernel::DefaultGemm<
    cutlass::half_t, cutlass::layout::RowMajor, 8,
    cutlass::half_t, cutlass::layout::ColumnMajor, 8,
    float, cutlass::layout::RowMajor, float, OperatorClass, Architecture,
    ThreadblockShape, WarpShape, InstructionShape, Epilogue, Swizzle, Stages, false,
    cutlass::arch::OpMultiplyAdd>::GemmKernel;

using Wmma = Gemm<cutlass::arch::OpClassWmmaTensorOp, cutlass::arch::Sm70,
                  cutlass::gemm::GemmShape<16, 16, 16>, 2>;
using MmaSync = Gemm<cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
                     cutlass::gemm::GemmShape<16, 8, 16>, 3>;

// What a host program would compute with the library: the parameter structure, the grid and the sizes.
struct Launch {
  int parameter_bytes, shared_bytes, threads, grid_x, grid_y;
};

template <typename Kernel>
__device__ void fill(void *parameters, Launch *launch, void *a, void *b, float *d, int m, int n, int k) {
  cutlass::gemm::GemmCoord problem(m, n, k);
  auto tiles = Swizzle::get_tiled_shape(problem, {ThreadblockShape::kM, ThreadblockShape::kN, ThreadblockShape::kK}, 1);
  dim3 grid = Swizzle::get_grid_shape(tiles);
  auto *left = static_cast<cutlass::half_t *>(a);
  auto *right = static_cast<cutlass::half_t *>(b);
  new (parameters) typename Kernel::Params(problem, tiles, {left, k}, {right, k}, {d, n}, {d, n}, {1.0f, 0.0f});
  *launch = {int(sizeof(typename Kernel::Params)), int(sizeof(typename Kernel::SharedStorage)),
             Kernel::kThreadCount, int(grid.x), int(grid.y)};
}

template <typename Kernel>
__device__ void multiply(typename Kernel::Params const &parameters) {
  extern __shared__ __align__(16) char storage[];
  Kernel()(parameters, *reinterpret_cast<typename Kernel::SharedStorage *>(storage));
}

#define PARAMETERS(name, Kernel)                                                                          \
  extern "C" __global__ void name(void *parameters, Launch *launch, void *a, void *b, float *d, int m,    \
                                  int n, int k) {                                                         \
    fill<Kernel>(parameters, launch, a, b, d, m, n, k);                                                   \
  }

PARAMETERS(wmma_parameters, Wmma)
PARAMETERS(mma_sync_parameters, MmaSync)

extern "C" __global__ void __launch_bounds__(Wmma::kThreadCount) wmma_gemm(Wmma::Params parameters) {
  multiply<Wmma>(parameters);
}

extern "C" __global__ void __launch_bounds__(MmaSync::kThreadCount) mma_sync_gemm(MmaSync::Params parameters) {
  multiply<MmaSync>(parameters);
}

// Verilator's runtime makes a pool of threads where a model was built for several; here it cannot.
#include "verilated.h"
#include "verilated_threads.h"

VlThreadPool::VlThreadPool(VerilatedContext *, unsigned) { __builtin_trap(); }
VlThreadPool::~VlThreadPool() {}

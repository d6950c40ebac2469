// The system of bus.h as a simulation: Verilator's model of the core, its registers on AXI4-Lite, and a memory
// that answers one burst at a time. The bus has 128 bits.
#include "bus.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "Vopenwmma_core.h"
#include "verilated.h"

namespace {

constexpr unsigned BEAT = 16;
Vopenwmma_core *core;
std::uint32_t read_address, reads_left, write_address;
bool writing, responding;

// One cycle: the memory drives what it has, then both sides take what was transferred at the clock edge.
void cycle() {
    core->aclk = 0;
    core->m_axi_arready = reads_left == 0;
    core->m_axi_rvalid = reads_left != 0;
    core->m_axi_rlast = reads_left == 1;
    std::memcpy(&core->m_axi_rdata, memory + read_address % sizeof memory, BEAT);
    core->m_axi_awready = !writing && !responding;
    core->m_axi_wready = writing;
    core->m_axi_bvalid = responding;
    core->eval();

    if (core->m_axi_rvalid && core->m_axi_rready) {
        read_address += BEAT;
        --reads_left;
    } else if (core->m_axi_arvalid && core->m_axi_arready) {
        read_address = core->m_axi_araddr / BEAT * BEAT;
        reads_left = core->m_axi_arlen + 1;
    }
    if (core->m_axi_wvalid && core->m_axi_wready) {
        std::uint8_t bytes[BEAT];
        std::memcpy(bytes, &core->m_axi_wdata, BEAT);
        for (unsigned byte = 0; byte < BEAT; ++byte)
            if (core->m_axi_wstrb >> byte & 1) memory[(write_address + byte) % sizeof memory] = bytes[byte];
        write_address += BEAT;
        writing = !core->m_axi_wlast;
        responding = core->m_axi_wlast;
    } else if (core->m_axi_awvalid && core->m_axi_awready) {
        write_address = core->m_axi_awaddr / BEAT * BEAT;
        writing = true;
    } else if (core->m_axi_bvalid && core->m_axi_bready) {
        responding = false;
    }
    core->aclk = 1;
    core->eval();
}

void start() {
    core = new Vopenwmma_core;
    core->aresetn = 0;
    for (int count = 0; count < 4; ++count) cycle();
    core->aresetn = 1;
    cycle();
}

void require_okay(unsigned response, std::uint32_t offset) {
    if (response == 0) return;
    std::printf("register %#x: the core answers with an error\n", unsigned(offset));
    std::exit(1);
}

}  // namespace

std::uint8_t memory[1 << 16];

std::uint32_t register_read(std::uint32_t offset) {
    if (core == nullptr) start();
    core->s_axil_araddr = offset;
    core->s_axil_arvalid = 1;
    for (bool asked = false; !asked;) {
        core->eval();
        asked = core->s_axil_arready;
        cycle();
    }
    core->s_axil_arvalid = 0;
    while (!core->s_axil_rvalid) cycle();
    const std::uint32_t value = core->s_axil_rdata;
    require_okay(core->s_axil_rresp, offset);
    core->s_axil_rready = 1;
    cycle();
    core->s_axil_rready = 0;
    return value;
}

void register_write(std::uint32_t offset, std::uint32_t value) {
    if (core == nullptr) start();
    core->s_axil_awaddr = offset;
    core->s_axil_wdata = value;
    core->s_axil_wstrb = 15;
    core->s_axil_awvalid = core->s_axil_wvalid = 1;
    while (core->s_axil_awvalid || core->s_axil_wvalid) {
        core->eval();
        const bool address = core->s_axil_awready, data = core->s_axil_wready;
        cycle();
        if (address) core->s_axil_awvalid = 0;
        if (data) core->s_axil_wvalid = 0;
    }
    while (!core->s_axil_bvalid) cycle();
    require_okay(core->s_axil_bresp, offset);
    core->s_axil_bready = 1;
    cycle();
    core->s_axil_bready = 0;
}

void wait_for_interrupt() {
    while (!core->irq) cycle();
}

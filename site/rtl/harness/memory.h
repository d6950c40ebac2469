// Global memory behind the core's AXI4 port: answers after a fixed latency and notes what it did.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "Vtop.h"
#include "configuration.h"

namespace openwmma {

constexpr std::uint32_t BEAT_BYTES = 16;
constexpr std::uint32_t BASE = 0x10000;  // an access below or behind the memory is answered with DECERR
constexpr std::uint32_t BYTES = 0x10000;
constexpr std::uint32_t OKAY = 0, DECERR = 3;
static_assert(configuration::DATA_BITS == 8 * BEAT_BYTES && configuration::ADDRESS_BITS == 32);

// A beat of 16 bytes that was read or written. Plain words, read by the page.
struct Beat {
    std::uint32_t cycle, is_write, address, strobe;
    std::uint32_t data[BEAT_BYTES / 4];
};

class Memory {
  public:
    explicit Memory(std::uint32_t latency) : latency_(latency) {}

    // The slave's outputs in this cycle; they depend on registered state only.
    void drive(Vtop &top, std::uint32_t now) {
        top.m_axi_arready = top.m_axi_awready = top.m_axi_wready = 1;
        top.m_axi_rvalid = !reads_.empty() && now >= reads_.front().due;
        if (top.m_axi_rvalid) {
            const Burst &read = reads_.front();
            const std::uint32_t address = read.address + read.beat * BEAT_BYTES;
            const bool exists = contains(address);
            if (exists) std::memcpy(&top.m_axi_rdata, bytes + (address - BASE), BEAT_BYTES);
            top.m_axi_rresp = exists ? OKAY : DECERR;
            top.m_axi_rlast = read.beat == read.last;
        }
        top.m_axi_bvalid = !answers_.empty() && now >= answers_.front().due;
        if (top.m_axi_bvalid) top.m_axi_bresp = answers_.front().response;
    }

    // What is transferred at the end of this cycle.
    void observe(const Vtop &top, std::uint32_t now) {
        if (top.m_axi_arvalid) reads_.push_back(burst(top.m_axi_araddr, top.m_axi_arlen, now + latency_));
        if (top.m_axi_rvalid && top.m_axi_rready) {
            Burst &read = reads_.front();
            note(now, 0, read.address + read.beat * BEAT_BYTES, 0xFFFF, &top.m_axi_rdata);
            if (read.beat++ == read.last) reads_.pop_front();
        }
        if (top.m_axi_bvalid && top.m_axi_bready) answers_.pop_front();
        if (top.m_axi_awvalid) writes_.push_back(burst(top.m_axi_awaddr, top.m_axi_awlen, 0));
        if (top.m_axi_wvalid) {
            Data data{top.m_axi_wstrb, {}};
            std::memcpy(data.bytes, &top.m_axi_wdata, BEAT_BYTES);
            data_.push_back(data);
        }
        write(now);
    }

    std::uint8_t bytes[BYTES] = {};
    std::vector<Beat> beats;

  private:
    struct Burst {
        std::uint32_t address, last, beat, due, response;
    };
    struct Data {
        std::uint32_t strobe;
        std::uint8_t bytes[BEAT_BYTES];
    };

    static Burst burst(std::uint32_t address, std::uint32_t length, std::uint32_t due) {
        return {address & ~(BEAT_BYTES - 1), length, 0, due, OKAY};
    }

    static bool contains(std::uint32_t address) { return address >= BASE && address - BASE <= BYTES - BEAT_BYTES; }

    // Data may come before their address; each beat is written as soon as both are there.
    void write(std::uint32_t now) {
        while (!writes_.empty() && !data_.empty()) {
            Burst &write = writes_.front();
            const Data data = data_.front();
            data_.pop_front();
            const std::uint32_t address = write.address + write.beat * BEAT_BYTES;
            if (contains(address)) {
                for (std::uint32_t byte = 0; byte < BEAT_BYTES; ++byte)
                    if (data.strobe >> byte & 1) bytes[address - BASE + byte] = data.bytes[byte];
                note(now, 1, address, data.strobe, data.bytes);
            } else {
                write.response = DECERR;
            }
            if (write.beat++ == write.last) {
                answers_.push_back({0, 0, 0, now + latency_, write.response});
                writes_.pop_front();
            }
        }
    }

    void note(std::uint32_t now, std::uint32_t is_write, std::uint32_t address, std::uint32_t strobe, const void *data) {
        Beat beat{now, is_write, address, strobe, {}};
        std::memcpy(beat.data, data, BEAT_BYTES);
        beats.push_back(beat);
    }

    std::uint32_t latency_;
    std::deque<Burst> reads_, writes_, answers_;
    std::deque<Data> data_;
};

}  // namespace openwmma

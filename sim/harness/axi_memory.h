// The AXI4 slave that serves the core's memory port straight from a buffer shared with Python, and the
// judge of the port: every rule of AXI4 that the core could break ends the simulation with a message.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "Vopenwmma_core.h"
#include "configuration.h"

namespace openwmma {

using Address = std::uint64_t;

constexpr unsigned BUS_BYTES = configuration::DATA_BITS / 8;
static_assert(BUS_BYTES == 8 || BUS_BYTES == 16 || BUS_BYTES == 32 || BUS_BYTES == 64, "the bus has 64 to 512 bits");

// A beat may be narrower than the bus; it is on the lanes of its address.
constexpr unsigned BEAT_BYTES = configuration::BEAT_BYTES;
static_assert(BEAT_BYTES <= BUS_BYTES && (BEAT_BYTES & (BEAT_BYTES - 1)) == 0, "beats divide the bus");

enum Response : std::uint8_t { OKAY = 0, SLVERR = 2, DECERR = 3 };

// What the memory is and how it behaves; plain data, filled in by Python.
struct MemoryParameters {
    std::uint8_t *data;
    Address base;
    Address size;
    std::uint32_t read_latency;   // cycles from a read address to its first beat
    std::uint32_t write_latency;  // cycles from the last beat to the write response
    std::uint32_t stall;          // of 256 chances in each cycle and channel, how many the memory is not ready
    std::uint32_t seed;           // of those chances
};

// Cycles in which one side kept the other waiting, by channel; plain data, read by Python.
struct Waits {
    std::uint64_t read_address = 0;    // the memory did not take a read address
    std::uint64_t read_data = 0;       // the core did not take read data
    std::uint64_t read_gap = 0;        // the memory had read data due and held it back
    std::uint64_t write_address = 0;   // the memory did not take a write address
    std::uint64_t write_data = 0;      // the memory did not take written data
    std::uint64_t write_response = 0;  // the memory had a write response due and held it back
    std::uint64_t queue = 0;           // the host had a command and found the queue full
};

class ProtocolError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Verilator keeps a port of at most 64 bits in one integer and a wider one in an array of 32-bit words.
template <typename Port> auto words_of(Port &port) {
    if constexpr (std::is_integral_v<Port>) return &port;
    else return &port[0];
}

inline std::string hexadecimal(std::uint64_t value) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    do {
        text.insert(text.begin(), digits[value & 15]);
        value >>= 4;
    } while (value != 0);
    return "0x" + text;
}

// A channel's payload must not change, nor its valid fall, between valid and ready.
template <typename Payload> class StableWhileWaiting {
  public:
    explicit StableWhileWaiting(const char *channel) : channel_(channel) {}

    void observe(bool valid, bool ready, const Payload &payload) {
        if (waiting_ && !valid) throw ProtocolError(std::string(channel_) + "VALID fell before " + channel_ + "READY rose");
        if (waiting_ && !(payload == payload_)) throw ProtocolError(std::string(channel_) + " payload changed before " + channel_ + "READY rose");
        waiting_ = valid && !ready;
        if (waiting_) payload_ = payload;
    }

  private:
    const char *channel_;
    bool waiting_ = false;
    Payload payload_{};
};

struct AddressPayload {
    Address address = 0;
    std::uint8_t length = 0;
    std::uint8_t size = 0;
    std::uint8_t burst = 0;
    std::uint8_t id = 0;
    std::uint8_t lock = 0;
    std::uint8_t cache = 0;
    std::uint8_t prot = 0;
    std::uint8_t qos = 0;
    std::uint8_t region = 0;
    bool operator==(const AddressPayload &) const = default;
};

struct WritePayload {
    std::uint8_t data[BUS_BYTES] = {};
    std::uint64_t strobe = 0;
    bool last = false;
    bool operator==(const WritePayload &) const = default;
};

class AxiMemory {
  public:
    explicit AxiMemory(const MemoryParameters &parameters) : memory_(parameters), random_(parameters.seed | 1U) {}

    // Sets the slave's outputs for this cycle; they depend on registered state only.
    void drive(Vopenwmma_core &top) {
        top.m_axi_arready = !stalls();
        top.m_axi_awready = !stalls();
        top.m_axi_wready = !stalls();
        drive_read_data(top);
        drive_write_response(top);
    }

    // Takes what is transferred at this clock edge.
    void observe(const Vopenwmma_core &top) {
        count_waits(top);
        observe_read_address(top);
        observe_write_address(top);
        observe_write_data(top);
        if (read_offered_ && top.m_axi_rready) advance_read();
        if (write_offered_ && top.m_axi_bready) {
            responses_.pop_front();
            write_offered_ = false;
        }
        ++now_;
    }

    void set_slave_error(Address base, Address size) {
        slave_error_base_ = base;
        slave_error_size_ = size;
    }

    const Waits &waits() const { return waits_; }
    std::size_t reads_in_flight() const { return reads_.size(); }
    std::size_t writes_in_flight() const { return writes_.size() + responses_.size(); }

  private:
    struct Read {
        AddressPayload burst;
        std::uint64_t due;
        unsigned beat;
    };
    struct Write {
        AddressPayload burst;
        std::vector<WritePayload> beats;
        std::uint64_t due;
    };

    bool stalls() {
        if (memory_.stall == 0) return false;
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        return ((random_ >> 32) & 255) < memory_.stall;
    }

    void count_waits(const Vopenwmma_core &top) {
        waits_.read_address += top.m_axi_arvalid && !top.m_axi_arready;
        waits_.read_data += top.m_axi_rvalid && !top.m_axi_rready;
        waits_.read_gap += !read_offered_ && !reads_.empty() && now_ >= reads_.front().due;
        waits_.write_address += top.m_axi_awvalid && !top.m_axi_awready;
        waits_.write_data += top.m_axi_wvalid && !top.m_axi_wready;
        waits_.write_response += !write_offered_ && !responses_.empty() && now_ >= responses_.front().due;
    }

    Response respond(Address address, Address count) const {
        if (address < memory_.base || address + count > memory_.base + memory_.size) return DECERR;
        const bool marked = address < slave_error_base_ + slave_error_size_ && slave_error_base_ < address + count;
        return marked ? SLVERR : OKAY;
    }

    static Address beat_address(const AddressPayload &burst, unsigned beat) {
        const Address first = burst.address & ~Address(BEAT_BYTES - 1);
        return first + Address(beat) * BEAT_BYTES;
    }

    // The lowest byte lane that carries a beat.
    static unsigned first_lane(Address address) { return unsigned(address & (BUS_BYTES - BEAT_BYTES)); }

    void drive_read_data(Vopenwmma_core &top) {
        if (!read_offered_ && !reads_.empty() && now_ >= reads_.front().due && !stalls()) {
            const Read &read = reads_.front();
            const Address address = beat_address(read.burst, read.beat);
            const Response response = respond(address, BEAT_BYTES);
            // What comes with an error or on other lanes is not data: a pattern that shows if the core uses it.
            std::uint8_t bytes[BUS_BYTES];
            std::memset(bytes, 0xA5, sizeof bytes);
            if (response == OKAY) std::memcpy(bytes + first_lane(address), memory_.data + (address - memory_.base), BEAT_BYTES);
            std::memcpy(words_of(top.m_axi_rdata), bytes, sizeof bytes);
            top.m_axi_rid = read.burst.id;
            top.m_axi_rresp = response;
            top.m_axi_rlast = read.beat == read.burst.length;
            read_offered_ = true;
        }
        top.m_axi_rvalid = read_offered_;
    }

    void advance_read() {
        Read &read = reads_.front();
        read_offered_ = false;
        if (read.beat++ == read.burst.length) reads_.pop_front();
    }

    // Bytes reach the buffer only now: a core that reads back before the response gets the old ones.
    void drive_write_response(Vopenwmma_core &top) {
        if (!write_offered_ && !responses_.empty() && now_ >= responses_.front().due && !stalls()) {
            top.m_axi_bid = responses_.front().burst.id;
            top.m_axi_bresp = commit(responses_.front());
            write_offered_ = true;
        }
        top.m_axi_bvalid = write_offered_;
    }

    // Each beat on its own: what exists is written even where another beat of the burst is refused.
    Response commit(const Write &write) {
        Response worst = OKAY;
        for (unsigned beat = 0; beat < write.beats.size(); ++beat) {
            const Address address = beat_address(write.burst, beat);
            const Response response = respond(address, BEAT_BYTES);
            if (worst == OKAY) worst = response;
            if (response != OKAY) continue;
            const unsigned lanes = first_lane(address);
            for (unsigned byte = 0; byte < BEAT_BYTES; ++byte)
                if (write.beats[beat].strobe >> (lanes + byte) & 1) memory_.data[address - memory_.base + byte] = write.beats[beat].data[lanes + byte];
        }
        return worst;
    }

    static void check_burst(const char *channel, const AddressPayload &burst) {
        const std::string at = std::string(channel) + " at " + hexadecimal(burst.address) + ": ";
        if (burst.burst != 1) throw ProtocolError(at + "burst type " + std::to_string(burst.burst) + " is not INCR");
        if (burst.id | burst.lock | burst.prot | burst.qos | burst.region) throw ProtocolError(at + "id, lock, prot, qos and region are not all 0");
        if (burst.cache != 3) throw ProtocolError(at + "cache " + std::to_string(burst.cache) + " is not normal, bufferable memory");
        if ((1U << burst.size) != BEAT_BYTES)
            throw ProtocolError(at + "beats of " + std::to_string(1U << burst.size) + " bytes on a bus of " + std::to_string(BUS_BYTES));
        const Address first = beat_address(burst, 0);
        const Address last = beat_address(burst, burst.length) + BEAT_BYTES - 1;
        if (first >> 12 != last >> 12) throw ProtocolError(at + std::to_string(burst.length + 1) + " beats cross a 4 KiB boundary");
    }

    void observe_read_address(const Vopenwmma_core &top) {
        const AddressPayload payload{top.m_axi_araddr, top.m_axi_arlen,  top.m_axi_arsize, top.m_axi_arburst, top.m_axi_arid,
                                     top.m_axi_arlock, top.m_axi_arcache, top.m_axi_arprot, top.m_axi_arqos,   top.m_axi_arregion};
        ar_.observe(top.m_axi_arvalid, top.m_axi_arready, payload);
        if (!(top.m_axi_arvalid && top.m_axi_arready)) return;
        check_burst("AR", payload);
        reads_.push_back({payload, now_ + memory_.read_latency, 0});
        if (reads_.size() > configuration::OUTSTANDING_READS)
            throw ProtocolError("more than " + std::to_string(configuration::OUTSTANDING_READS) + " read bursts in flight");
    }

    void observe_write_address(const Vopenwmma_core &top) {
        const AddressPayload payload{top.m_axi_awaddr, top.m_axi_awlen,  top.m_axi_awsize, top.m_axi_awburst, top.m_axi_awid,
                                     top.m_axi_awlock, top.m_axi_awcache, top.m_axi_awprot, top.m_axi_awqos,   top.m_axi_awregion};
        aw_.observe(top.m_axi_awvalid, top.m_axi_awready, payload);
        if (!(top.m_axi_awvalid && top.m_axi_awready)) return;
        check_burst("AW", payload);
        writes_.push_back(payload);
        complete_write();
    }

    void observe_write_data(const Vopenwmma_core &top) {
        WritePayload payload;
        if (top.m_axi_wvalid) {
            std::memcpy(payload.data, words_of(top.m_axi_wdata), BUS_BYTES);
            payload.strobe = top.m_axi_wstrb;
            payload.last = top.m_axi_wlast;
        }
        w_.observe(top.m_axi_wvalid, top.m_axi_wready, payload);
        if (!(top.m_axi_wvalid && top.m_axi_wready)) return;
        beats_.push_back(payload);
        complete_write();
    }

    // Data may come before its address; a burst is judged and answered when both are here.
    void complete_write() {
        while (!writes_.empty() && !beats_.empty()) {
            const AddressPayload &burst = writes_.front();
            const std::size_t count = std::size_t(burst.length) + 1;
            const std::string at = "W of the burst at " + hexadecimal(burst.address) + ": ";
            const std::size_t present = beats_.size() < count ? beats_.size() : count;
            for (std::size_t beat = 0; beat < present; ++beat)
                if (beats_[beat].last != (beat + 1 == count))
                    throw ProtocolError(at + "WLAST is " + (beats_[beat].last ? "1" : "0") + " at beat " + std::to_string(beat + 1) + " of " + std::to_string(count));
            if (present < count) return;
            const unsigned below = burst.address & (BUS_BYTES - 1);
            if (beats_.front().strobe & ((std::uint64_t(1) << below) - 1)) throw ProtocolError(at + "a strobe lies below the address");
            for (unsigned beat = 0; beat < count; ++beat) {
                const std::uint64_t lanes = (~std::uint64_t(0) >> (64 - BEAT_BYTES)) << first_lane(beat_address(burst, beat));
                if (beats_[beat].strobe & ~lanes) throw ProtocolError(at + "a strobe lies outside the lanes of beat " + std::to_string(beat + 1));
            }
            const auto end = beats_.begin() + static_cast<std::ptrdiff_t>(count);
            responses_.push_back({burst, std::vector<WritePayload>(beats_.begin(), end), now_ + memory_.write_latency});
            beats_.erase(beats_.begin(), end);
            writes_.pop_front();
        }
    }

    MemoryParameters memory_;
    Waits waits_;
    std::uint64_t random_;
    std::uint64_t now_ = 0;
    Address slave_error_base_ = 0;
    Address slave_error_size_ = 0;
    std::deque<Read> reads_;
    std::deque<AddressPayload> writes_;
    std::deque<WritePayload> beats_;
    std::deque<Write> responses_;
    bool read_offered_ = false;
    bool write_offered_ = false;
    StableWhileWaiting<AddressPayload> ar_{"AR"};
    StableWhileWaiting<AddressPayload> aw_{"AW"};
    StableWhileWaiting<WritePayload> w_{"W"};
};

}  // namespace openwmma

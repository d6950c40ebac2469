// The AXI4-Lite master in front of the core: register reads and writes, and commands pushed through them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "axi_memory.h"
#include "configuration.h"
#include "simulation.h"

namespace openwmma {

class Host {
  public:
    explicit Host(Simulation &simulation) : simulation_(simulation) {}

    // Reads `count` successive registers, the next address on the bus before the last answer is back.
    // Returns the first response that is an error, or OKAY.
    Response read(std::uint32_t address, std::uint32_t count, std::uint32_t *values) {
        Vopenwmma_core &top = simulation_.top();
        const std::uint64_t deadline = simulation_.deadline(count);
        Response worst = OKAY;
        std::uint32_t issued = 0;
        for (std::uint32_t answered = 0; answered < count;) {
            top.s_axil_arvalid = issued < count;
            top.s_axil_araddr = address + 4 * issued;
            top.s_axil_rready = 1;
            simulation_.settle();
            issued += top.s_axil_arvalid && top.s_axil_arready;
            if (top.s_axil_rvalid) {
                if (answered == issued) throw ProtocolError("the host interface answered a read that was not asked for");
                if (worst == OKAY) worst = Response(top.s_axil_rresp);
                values[answered++] = top.s_axil_rdata;
            }
            simulation_.edge();
            simulation_.check(deadline, "a host read");
        }
        top.s_axil_arvalid = 0;
        top.s_axil_rready = 0;
        return worst;
    }

    // Writes `count` registers at the given addresses, in order.
    Response write(const std::uint32_t *addresses, const std::uint32_t *values, std::uint32_t count) {
        Vopenwmma_core &top = simulation_.top();
        const std::uint64_t deadline = simulation_.deadline(count);
        Response worst = OKAY;
        std::uint32_t addressed = 0;
        std::uint32_t sent = 0;
        for (std::uint32_t answered = 0; answered < count;) {
            top.s_axil_awvalid = addressed < count;
            top.s_axil_awaddr = addressed < count ? addresses[addressed] : 0;
            top.s_axil_wvalid = sent < count;
            top.s_axil_wdata = sent < count ? values[sent] : 0;
            top.s_axil_wstrb = 15;
            top.s_axil_bready = 1;
            simulation_.settle();
            addressed += top.s_axil_awvalid && top.s_axil_awready;
            sent += top.s_axil_wvalid && top.s_axil_wready;
            if (top.s_axil_bvalid) {
                if (answered >= addressed || answered >= sent) throw ProtocolError("the host interface answered a write that was not asked for");
                if (worst == OKAY) worst = Response(top.s_axil_bresp);
                ++answered;
            }
            simulation_.edge();
            simulation_.check(deadline, "a host write");
        }
        top.s_axil_awvalid = 0;
        top.s_axil_wvalid = 0;
        top.s_axil_bready = 0;
        return worst;
    }

    // Pushes commands in order, as many at a time as the queue of their warp reports room for, and does not wait
    // for their end. Returns false if a warp has stopped with a fault, whose commands it skips.
    bool queue(const std::uint32_t *words, std::uint32_t commands) {
        using namespace configuration;
        std::array<std::uint32_t, WARPS> room{};
        std::uint32_t faults = 0;
        for (std::uint32_t pushed = 0; pushed < commands;) {
            const std::uint32_t warp = owner(words + COMMAND_WORDS * pushed);
            std::uint32_t count = 1;
            while (pushed + count < commands && owner(words + COMMAND_WORDS * (pushed + count)) == warp) ++count;
            if (!(faults >> warp & 1) && !room[warp]) room[warp] = wait_for_room(warp, faults);
            if (!(faults >> warp & 1)) {
                if (count > room[warp]) count = room[warp];
                push(words + COMMAND_WORDS * pushed, count);
                room[warp] -= count;
            }
            pushed += count;
        }
        return !faults;
    }

    // Waits until all warps are idle. Returns false when one has stopped with a fault.
    bool finish() {
        using namespace configuration;
        // Each command that is still queued may need its whole limit.
        const auto idle = [](std::uint32_t status) { return !(status & STATUS_BUSY); };
        return !(poll(idle, "the commands", WARPS * (QUEUE_DEPTH + 1)) & STATUS_FAULT);
    }

    // How often the status register said that the queue was full while commands waited to be pushed.
    std::uint64_t full_polls() const { return full_polls_; }

  private:
    std::uint32_t status() {
        const std::uint32_t value = get(configuration::STATUS);
        simulation_.note_status(value);
        return value;
    }

    std::uint32_t get(std::uint32_t address) {
        std::uint32_t value = 0;
        if (read(address, 1, &value) != OKAY) throw ProtocolError("a register answered a read with an error");
        return value;
    }

    // The warp whose queue takes a command.
    static std::uint32_t owner(const std::uint32_t *words) {
        const std::uint32_t warp = words[0] >> 28;
        return warp < configuration::WARPS ? warp : 0;
    }

    // The places in the queue of a warp, once there are any; or its bit in `faults`, the failed warps.
    std::uint32_t wait_for_room(std::uint32_t warp, std::uint32_t &faults) {
        using namespace configuration;
        if (WARPS > 1 && write(&WARP, &warp, 1) != OKAY) throw ProtocolError("the core refused to select a warp");
        const auto has_room = [&](std::uint32_t status) {
            full_polls_ += !(status & STATUS_FREE);
            if (status & STATUS_FAULT) faults = get(FAULTS);
            return (faults >> warp & 1) || (status & STATUS_FREE);
        };
        const std::uint32_t value = poll(has_room, "a full queue", 1);
        return (value & STATUS_FREE) / (STATUS_FREE & (0U - STATUS_FREE));
    }

    // Word 0 of a command comes last: writing it pushes the command. The next one's words follow at once; those
    // that are the same as in the command before are not written again.
    void push(const std::uint32_t *words, std::uint32_t commands) {
        using configuration::COMMAND_WORDS;
        addresses_.clear();
        values_.clear();
        for (std::uint32_t command = 0; command < commands; ++command)
            for (std::uint32_t word = 1; word <= COMMAND_WORDS; ++word) {
                const std::uint32_t place = word % COMMAND_WORDS;
                const std::uint32_t value = words[COMMAND_WORDS * command + place];
                if (place && written_[place] == value) continue;
                written_[place] = value;
                addresses_.push_back(configuration::COMMAND + 4 * place);
                values_.push_back(value);
            }
        if (write(addresses_.data(), values_.data(), std::uint32_t(addresses_.size())) != OKAY)
            throw ProtocolError("the command queue refused a command although it reported a free place");
    }

    template <typename Condition> std::uint32_t poll(Condition condition, const char *awaited, std::uint64_t limits) {
        const std::uint64_t deadline = simulation_.deadline(limits);
        for (;;) {
            const std::uint32_t value = status();
            if (condition(value)) return value;
            simulation_.check(deadline, awaited);
        }
    }

    Simulation &simulation_;
    std::vector<std::uint32_t> addresses_;
    std::vector<std::uint32_t> values_;
    std::array<std::uint32_t, configuration::COMMAND_WORDS> written_{};  // what the command registers hold; zeros after reset
    std::uint64_t full_polls_ = 0;
};

}  // namespace openwmma

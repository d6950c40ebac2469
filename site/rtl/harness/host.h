// The AXI4-Lite master in front of the core: pushes commands while the queue has room, then awaits the end.
#pragma once

#include <cstdint>
#include <vector>

#include "Vtop.h"
#include "configuration.h"

namespace openwmma {

enum class Outcome : std::uint32_t { RUNNING, DONE, FAULT };

class Host {
  public:
    std::vector<std::uint32_t> words;     // of all commands, COMMAND_WORDS each
    std::vector<std::uint32_t> arrivals;  // the cycle in which each command was pushed
    Outcome outcome = Outcome::RUNNING;
    std::uint32_t cause = 0, index = 0;

    // The master's outputs in this cycle.
    void drive(Vtop &top) const {
        top.s_axil_arvalid = reading_ && !asked_;
        top.s_axil_araddr = address_;
        top.s_axil_rready = reading_;
        const std::uint32_t count = std::uint32_t(addresses_.size());
        top.s_axil_awvalid = addressed_ < count;
        top.s_axil_awaddr = addressed_ < count ? addresses_[addressed_] : 0;
        top.s_axil_wvalid = sent_ < count;
        top.s_axil_wdata = sent_ < count ? values_[sent_] : 0;
        top.s_axil_wstrb = 15;
        top.s_axil_bready = answered_ < count;
    }

    // What is transferred at the end of this cycle, and what follows from it.
    void observe(const Vtop &top, std::uint32_t now) {
        if (outcome != Outcome::RUNNING) return;
        if (reading_) {
            asked_ = asked_ || top.s_axil_arready;
            if (!top.s_axil_rvalid) return;
            reading_ = false;
            take(top.s_axil_rdata);
        } else if (answered_ < addresses_.size()) {
            addressed_ += top.s_axil_awvalid && top.s_axil_awready;
            if (top.s_axil_wvalid && top.s_axil_wready && ++sent_ % configuration::COMMAND_WORDS == 0) arrivals.push_back(now);
            answered_ += top.s_axil_bvalid;
        } else {
            read(configuration::STATUS);
        }
    }

  private:
    void read(std::uint32_t address) {
        address_ = address;
        reading_ = true;
        asked_ = false;
    }

    void take(std::uint32_t value) {
        using namespace configuration;
        if (address_ == FAULT_CAUSE) {
            cause = value;
            read(FAULT_INDEX);
        } else if (address_ == FAULT_INDEX) {
            index = value;
            outcome = Outcome::FAULT;
        } else if (value & STATUS_FAULT) {
            read(FAULT_CAUSE);
        } else if (pushed_ < words.size()) {
            push((value & STATUS_FREE) / (STATUS_FREE & (0U - STATUS_FREE)));
        } else if (!(value & STATUS_BUSY)) {
            outcome = Outcome::DONE;
        }
    }

    // Word 0 of a command comes last: writing it pushes the command.
    void push(std::uint32_t room) {
        using namespace configuration;
        addresses_.clear();
        values_.clear();
        addressed_ = sent_ = answered_ = 0;
        for (; room > 0 && pushed_ < words.size(); --room, pushed_ += COMMAND_WORDS)
            for (std::uint32_t word = 1; word <= COMMAND_WORDS; ++word) {
                addresses_.push_back(COMMAND + 4 * (word % COMMAND_WORDS));
                values_.push_back(words[pushed_ + word % COMMAND_WORDS]);
            }
    }

    std::size_t pushed_ = 0;
    std::vector<std::uint32_t> addresses_, values_;
    std::uint32_t addressed_ = 0, sent_ = 0, answered_ = 0;
    bool reading_ = false, asked_ = false;
    std::uint32_t address_ = 0;
};

}  // namespace openwmma

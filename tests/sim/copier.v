// Not a tensor core: a block copier with the core's ports, and with faults to order, to test the harness.
// Command: word 0 = kind, word 1 = source, word 2 = destination, word 3 = beats (at most 16).
// On a bus of more than 128 bits, a beat is 16 bytes on the lanes of its address, as the core's are.
module openwmma_core #(
    parameter BUS = 128, parameter BEAT = BUS < 128 ? BUS : 128
) (
    input aclk, input aresetn, output irq,
    output reg [31:0] m_axi_araddr, output reg [7:0] m_axi_arlen, output [2:0] m_axi_arsize, output [1:0] m_axi_arburst,
    output m_axi_arid, output m_axi_arlock, output [3:0] m_axi_arcache, output [2:0] m_axi_arprot,
    output [3:0] m_axi_arqos, output [3:0] m_axi_arregion, output reg m_axi_arvalid, input m_axi_arready,
    input m_axi_rid, input [BUS-1:0] m_axi_rdata, input [1:0] m_axi_rresp, input m_axi_rlast, input m_axi_rvalid, output m_axi_rready,
    output reg [31:0] m_axi_awaddr, output reg [7:0] m_axi_awlen, output [2:0] m_axi_awsize, output [1:0] m_axi_awburst,
    output m_axi_awid, output m_axi_awlock, output [3:0] m_axi_awcache, output [2:0] m_axi_awprot,
    output [3:0] m_axi_awqos, output [3:0] m_axi_awregion, output reg m_axi_awvalid, input m_axi_awready,
    output [BUS-1:0] m_axi_wdata, output [BUS/8-1:0] m_axi_wstrb, output m_axi_wlast, output reg m_axi_wvalid, input m_axi_wready,
    input m_axi_bid, input [1:0] m_axi_bresp, input m_axi_bvalid, output m_axi_bready,
    input [15:0] s_axil_awaddr, input s_axil_awvalid, output s_axil_awready,
    input [31:0] s_axil_wdata, input [3:0] s_axil_wstrb, input s_axil_wvalid, output s_axil_wready,
    output reg [1:0] s_axil_bresp, output reg s_axil_bvalid, input s_axil_bready,
    input [15:0] s_axil_araddr, input s_axil_arvalid, output s_axil_arready,
    output reg [31:0] s_axil_rdata, output reg [1:0] s_axil_rresp, output reg s_axil_rvalid, input s_axil_rready
);
    localparam COPY = 1, EARLY_LAST = 2, UNSTABLE_ADDRESS = 3, HANG = 4, DROPPED_VALID = 5, ASSERTION = 6,
               NARROW = 7, FIXED_BURST = 8, LOW_STROBE = 9, STRAY_STROBE = 10, OTHER_ID = 11, DEVICE = 12;
    localparam IDLE = 0, ADDRESS = 1, READ = 2, WRITE = 3, RESPONSE = 4, STUCK = 5;

    reg [2:0] state = IDLE;
    reg [31:0] words [0:4];
    reg [BEAT-1:0] line [0:15];
    reg [4:0] beat = 0;
    reg fault = 0;
    reg [31:0] cause = 0, executed = 0;
    wire [31:0] kind = words[0];
    wire busy = state != IDLE;

    // The first byte lane of the beat that is read or written.
    wire [31:0] read_lane = (m_axi_araddr + beat * (BEAT / 8)) & (BUS / 8 - BEAT / 8);
    wire [31:0] write_lane = (m_axi_awaddr + beat * (BEAT / 8)) & (BUS / 8 - BEAT / 8);

    assign m_axi_arsize = kind == NARROW ? 3'd2 : BEAT == 64 ? 3'd3 : 3'd4;
    assign m_axi_awsize = BEAT == 64 ? 3'd3 : 3'd4;
    assign m_axi_arburst = kind == FIXED_BURST ? 2'd0 : 2'd1;
    assign m_axi_awburst = 2'd1;
    assign {m_axi_arid, m_axi_arlock, m_axi_arprot, m_axi_arqos, m_axi_arregion} = 0;
    assign {m_axi_awlock, m_axi_awprot, m_axi_awqos, m_axi_awregion} = 0;
    assign m_axi_awid = kind == OTHER_ID;
    assign m_axi_arcache = kind == DEVICE ? 4'd0 : 4'd3;
    assign m_axi_awcache = 4'd3;
    assign m_axi_rready = state == READ;
    wire [BUS/8-1:0] beat_lanes = ~({BUS / 8 {1'b1}} << (BEAT / 8 - 1) << 1);
    assign m_axi_wdata = {BUS / BEAT {line[beat[3:0]]}};
    assign m_axi_wstrb = kind == STRAY_STROBE ? {BUS / 8 {1'b1}} : beat_lanes << write_lane;
    assign m_axi_wlast = kind == EARLY_LAST ? beat == 0 : beat == m_axi_awlen[4:0];
    assign m_axi_bready = state == RESPONSE;
    assign irq = fault;

    // The host interface takes a write when both halves of it are there.
    wire write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
    assign s_axil_awready = write;
    assign s_axil_wready = write;
    assign s_axil_arready = !s_axil_rvalid || s_axil_rready;
    wire push = write && s_axil_awaddr == 16'h060;

    integer i;
    initial for (i = 0; i < 5; i = i + 1) words[i] = 0;

    always @(posedge aclk) begin
        if (s_axil_bready) s_axil_bvalid <= 0;
        if (write) begin
            s_axil_bvalid <= 1;
            s_axil_bresp <= push && busy ? 2 : 0;
            if (s_axil_awaddr >= 16'h060 && s_axil_awaddr < 16'h074 && !(push && busy))
                words[(s_axil_awaddr - 16'h060) >> 2] <= s_axil_wdata;
            if (s_axil_awaddr == 16'h010) fault <= 0;
        end
        if (s_axil_rready) s_axil_rvalid <= 0;
        if (s_axil_arvalid && s_axil_arready) begin
            s_axil_rvalid <= 1;
            s_axil_rresp <= s_axil_araddr[15] && busy ? 2 : 0;
            case (s_axil_araddr)
                16'h014: s_axil_rdata <= {16'd0, 7'd0, !busy && !fault, 6'd0, fault, busy};
                16'h018: s_axil_rdata <= cause;
                16'h01c, 16'h030: s_axil_rdata <= executed;
                default: s_axil_rdata <= {16'd0, s_axil_araddr};
            endcase
        end

        case (state)
            IDLE: if (push) begin
                state <= s_axil_wdata == HANG ? STUCK : ADDRESS;
                beat <= 0;
                m_axi_araddr <= words[1];
                m_axi_awaddr <= words[2] + (s_axil_wdata == LOW_STROBE ? 4 : 0);
                m_axi_arlen <= words[3] - 1;
                m_axi_awlen <= words[3] - 1;
                m_axi_arvalid <= s_axil_wdata != HANG;
                if (s_axil_wdata == ASSERTION) $stop;
            end
            ADDRESS: if (m_axi_arready) begin
                m_axi_arvalid <= 0;
                state <= READ;
            end else begin
                if (kind == UNSTABLE_ADDRESS) m_axi_araddr <= m_axi_araddr + 16;
                if (kind == DROPPED_VALID) m_axi_arvalid <= 0;
            end
            READ: if (m_axi_rvalid) begin
                line[beat[3:0]] <= m_axi_rdata[read_lane * 8 +: BEAT];
                beat <= beat + 1;
                if (m_axi_rresp != 0) begin
                    fault <= 1;
                    cause <= m_axi_rresp == 2 ? 7 : 8;
                end
                if (m_axi_rlast) begin
                    beat <= 0;
                    state <= fault || m_axi_rresp != 0 ? IDLE : WRITE;
                    m_axi_awvalid <= !(fault || m_axi_rresp != 0);
                    m_axi_wvalid <= !(fault || m_axi_rresp != 0);
                end
            end
            WRITE: begin
                if (m_axi_awready) m_axi_awvalid <= 0;
                if (m_axi_wvalid && m_axi_wready) begin
                    beat <= beat + 1;
                    if (beat == m_axi_awlen[4:0]) m_axi_wvalid <= 0;
                end
                if (!m_axi_wvalid && !m_axi_awvalid) state <= RESPONSE;
            end
            RESPONSE: if (m_axi_bvalid) begin
                state <= IDLE;
                if (m_axi_bresp != 0) begin
                    fault <= 1;
                    cause <= m_axi_bresp == 2 ? 9 : 10;
                end else executed <= executed + 1;
            end
            default: ;
        endcase
        if (!aresetn) begin
            state <= IDLE;
            m_axi_arvalid <= 0;
            m_axi_awvalid <= 0;
            m_axi_wvalid <= 0;
            s_axil_bvalid <= 0;
            s_axil_rvalid <= 0;
        end
    end
endmodule

// One tile on the core without a processor: after the reset, a state machine writes the commands of
// D = A B (16 x 16, f16, sums in f32) to the host port and waits for the interrupt. A lies at 0x1000 by rows,
// B at 0x2000 by columns, D comes to 0x3000 by rows. The memory is the one of core_example.v.
module tile_top (
  input wire clk,
  input wire rst_n,
  output reg done,   // the core is idle: D is in memory, or the core has failed
  output reg failed
);
  localparam WRITES = 26;
  localparam STATUS = 19'h014, INTERRUPT_ENABLE = 19'h024, COMMAND = 19'h060;
  localparam SEND = 2'd0, ANSWER = 2'd1, WAIT = 2'd2, CHECK = 2'd3;

  // Command by command words 1 to 4, then word 0, which queues it; the words are from hdl.command.encode.
  reg [159:0] command;
  reg [4:0] step;
  always @*
    case (step / 5)
      0: command = 160'h00000010_00000000_00001000_00000000_00010001;  // load A to registers 0 to 7
      1: command = 160'h00000010_00000000_00002000_00000008_00010029;  // load B to registers 8 to 15
      2: command = 160'h00000000_00000000_00000000_00000010_00080004;  // clear registers 16 to 23
      3: command = 160'h00000000_00000000_00000000_10080010_00198003;  // multiply
      default: command = 160'h00000010_00000000_00003000_00000010_00010c1a;  // store D
    endcase
  wire [2:0] word = 3'd4 - step % 5;
  wire last = step == WRITES - 1;

  reg [1:0] state;
  reg awvalid, wvalid, arvalid;
  wire awready, wready, bvalid, arready, rvalid, irq;
  wire [1:0] bresp, rresp;
  wire [31:0] rdata;

  always @(posedge clk)
    if (!rst_n) begin
      {state, step, awvalid, wvalid, arvalid, done, failed} <= 0;
    end else begin
      if (awready) awvalid <= 0;
      if (wready) wvalid <= 0;
      if (arready) arvalid <= 0;
      case (state)
        SEND: begin
          awvalid <= 1;
          wvalid <= 1;
          state <= ANSWER;
        end
        ANSWER: if (bvalid) begin
          // A full queue refuses word 0: it is written again.
          if (bresp == 0) step <= step + 1;
          state <= bresp == 0 && last ? WAIT : SEND;
        end
        WAIT: if (irq && !done) begin
          arvalid <= 1;
          state <= CHECK;
        end
        CHECK: if (rvalid) begin
          done <= 1;
          failed <= rdata[1];
          state <= WAIT;
        end
      endcase
    end

  // The port of the core to memory; widths are those of the preset tiny.
  wire arid, arlock, awid, awlock, rid, bid;
  wire [31:0] araddr, awaddr;
  wire [7:0] arlen, awlen;
  wire [2:0] arsize, arprot, awsize, awprot;
  wire [1:0] arburst, awburst, m_rresp, m_bresp;
  wire [3:0] arcache, arqos, arregion, awcache, awqos, awregion;
  wire m_arvalid, m_arready, m_rvalid, m_rready, m_rlast;
  wire m_awvalid, m_awready, m_wvalid, m_wready, m_wlast, m_bvalid, m_bready;
  wire [127:0] m_rdata, m_wdata;
  wire [15:0] m_wstrb;

  openwmma_core core (
    .aclk(clk), .aresetn(rst_n), .irq(irq),
    .s_axil_awaddr(last ? INTERRUPT_ENABLE : COMMAND + {14'd0, word, 2'b00}), .s_axil_awprot(3'd0),
    .s_axil_awvalid(awvalid), .s_axil_awready(awready),
    .s_axil_wdata(last ? 32'd3 : command[32*word +: 32]), .s_axil_wstrb(4'b1111),
    .s_axil_wvalid(wvalid), .s_axil_wready(wready),
    .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(1'b1),
    .s_axil_araddr(STATUS), .s_axil_arprot(3'd0), .s_axil_arvalid(arvalid), .s_axil_arready(arready),
    .s_axil_rdata(rdata), .s_axil_rresp(rresp), .s_axil_rvalid(rvalid), .s_axil_rready(1'b1),
    .m_axi_arid(arid), .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_arsize(arsize),
    .m_axi_arburst(arburst), .m_axi_arlock(arlock), .m_axi_arcache(arcache), .m_axi_arprot(arprot),
    .m_axi_arqos(arqos), .m_axi_arregion(arregion), .m_axi_arvalid(m_arvalid), .m_axi_arready(m_arready),
    .m_axi_rid(rid), .m_axi_rdata(m_rdata), .m_axi_rresp(m_rresp), .m_axi_rlast(m_rlast),
    .m_axi_rvalid(m_rvalid), .m_axi_rready(m_rready),
    .m_axi_awid(awid), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awsize(awsize),
    .m_axi_awburst(awburst), .m_axi_awlock(awlock), .m_axi_awcache(awcache), .m_axi_awprot(awprot),
    .m_axi_awqos(awqos), .m_axi_awregion(awregion), .m_axi_awvalid(m_awvalid), .m_axi_awready(m_awready),
    .m_axi_wdata(m_wdata), .m_axi_wstrb(m_wstrb), .m_axi_wlast(m_wlast),
    .m_axi_wvalid(m_wvalid), .m_axi_wready(m_wready),
    .m_axi_bid(bid), .m_axi_bresp(m_bresp), .m_axi_bvalid(m_bvalid), .m_axi_bready(m_bready)
  );

  openwmma_example_memory #(.ADDRESS_BITS(32), .DATA_BITS(128), .LANE_BITS(4), .SIZE_BITS(16)) memory (
    .aclk(clk), .aresetn(rst_n),
    .s_axi_arid(arid), .s_axi_araddr(araddr), .s_axi_arlen(arlen), .s_axi_arsize(arsize),
    .s_axi_arburst(arburst), .s_axi_arlock(arlock), .s_axi_arcache(arcache), .s_axi_arprot(arprot),
    .s_axi_arqos(arqos), .s_axi_arregion(arregion), .s_axi_arvalid(m_arvalid), .s_axi_arready(m_arready),
    .s_axi_rid(rid), .s_axi_rdata(m_rdata), .s_axi_rresp(m_rresp), .s_axi_rlast(m_rlast),
    .s_axi_rvalid(m_rvalid), .s_axi_rready(m_rready),
    .s_axi_awid(awid), .s_axi_awaddr(awaddr), .s_axi_awlen(awlen), .s_axi_awsize(awsize),
    .s_axi_awburst(awburst), .s_axi_awlock(awlock), .s_axi_awcache(awcache), .s_axi_awprot(awprot),
    .s_axi_awqos(awqos), .s_axi_awregion(awregion), .s_axi_awvalid(m_awvalid), .s_axi_awready(m_awready),
    .s_axi_wdata(m_wdata), .s_axi_wstrb(m_wstrb), .s_axi_wlast(m_wlast),
    .s_axi_wvalid(m_wvalid), .s_axi_wready(m_wready),
    .s_axi_bid(bid), .s_axi_bresp(m_bresp), .s_axi_bvalid(m_bvalid), .s_axi_bready(m_bready)
  );
endmodule

// A memory behind an AXI4 slave port, for simulations and first experiments: INCR bursts, one of reads and one
// of writes at a time, a beat in every cycle. It holds 2**SIZE_BITS bytes, zeros at first, which
// repeat all over the address space; no access is refused.
module openwmma_example_memory #(
  parameter ADDRESS_BITS = 32,
  parameter DATA_BITS = 128,
  parameter LANE_BITS = 4,  // log2(DATA_BITS / 8)
  parameter SIZE_BITS = 16
) (
  input wire aclk,
  input wire aresetn,
  input wire s_axi_arid,
  input wire [ADDRESS_BITS-1:0] s_axi_araddr,
  input wire [7:0] s_axi_arlen,
  input wire [2:0] s_axi_arsize,
  input wire [1:0] s_axi_arburst,
  input wire s_axi_arlock,
  input wire [3:0] s_axi_arcache,
  input wire [2:0] s_axi_arprot,
  input wire [3:0] s_axi_arqos,
  input wire [3:0] s_axi_arregion,
  input wire s_axi_arvalid,
  output wire s_axi_arready,
  output reg s_axi_rid,
  output reg [DATA_BITS-1:0] s_axi_rdata,
  output wire [1:0] s_axi_rresp,
  output reg s_axi_rlast,
  output reg s_axi_rvalid,
  input wire s_axi_rready,
  input wire s_axi_awid,
  input wire [ADDRESS_BITS-1:0] s_axi_awaddr,
  input wire [7:0] s_axi_awlen,
  input wire [2:0] s_axi_awsize,
  input wire [1:0] s_axi_awburst,
  input wire s_axi_awlock,
  input wire [3:0] s_axi_awcache,
  input wire [2:0] s_axi_awprot,
  input wire [3:0] s_axi_awqos,
  input wire [3:0] s_axi_awregion,
  input wire s_axi_awvalid,
  output wire s_axi_awready,
  input wire [DATA_BITS-1:0] s_axi_wdata,
  input wire [DATA_BITS/8-1:0] s_axi_wstrb,
  input wire s_axi_wlast,
  input wire s_axi_wvalid,
  output wire s_axi_wready,
  output reg s_axi_bid,
  output wire [1:0] s_axi_bresp,
  output reg s_axi_bvalid,
  input wire s_axi_bready
);
  localparam ROWS = 1 << (SIZE_BITS - LANE_BITS);

  wire unused = &{
    s_axi_araddr, s_axi_arburst, s_axi_arlock, s_axi_arcache, s_axi_arprot, s_axi_arqos, s_axi_arregion,
    s_axi_awaddr, s_axi_awburst, s_axi_awlock, s_axi_awcache, s_axi_awprot, s_axi_awqos, s_axi_awregion,
    s_axi_awlen
  };

  reg [DATA_BITS-1:0] rows [0:ROWS-1];
`ifndef SYNTHESIS
  // The memories of an FPGA begin with zeros unasked.
  integer row;
  initial
    for (row = 0; row < ROWS; row = row + 1)
      rows[row] = {DATA_BITS{1'b0}};
`endif

  reg reading;
  reg [SIZE_BITS-1:0] read_address;
  reg [7:0] beats_left;
  reg [2:0] read_size;
  wire fetch = reading && (!s_axi_rvalid || s_axi_rready);

  assign s_axi_arready = !reading;
  assign s_axi_rresp = 2'b00;

  always @(posedge aclk) begin
    if (s_axi_arvalid && s_axi_arready) begin
      reading <= 1'b1;
      read_address <= s_axi_araddr[SIZE_BITS-1:0];
      beats_left <= s_axi_arlen;
      read_size <= s_axi_arsize;
      s_axi_rid <= s_axi_arid;
    end
    if (fetch) begin
      s_axi_rdata <= rows[read_address[SIZE_BITS-1:LANE_BITS]];
      s_axi_rlast <= beats_left == 8'd0;
      reading <= beats_left != 8'd0;
      // The first beat may begin anywhere; the ones behind it are aligned.
      read_address <= ((read_address >> read_size) + 1'b1) << read_size;
      beats_left <= beats_left - 1'b1;
    end
    if (fetch)
      s_axi_rvalid <= 1'b1;
    else if (s_axi_rready)
      s_axi_rvalid <= 1'b0;
    if (!aresetn) begin
      reading <= 1'b0;
      s_axi_rvalid <= 1'b0;
    end
  end

  reg writing;
  reg [SIZE_BITS-1:0] write_address;
  reg [2:0] write_size;
  integer lane;

  assign s_axi_awready = !writing && !s_axi_bvalid;
  assign s_axi_wready = writing;
  assign s_axi_bresp = 2'b00;

  always @(posedge aclk) begin
    if (s_axi_awvalid && s_axi_awready) begin
      writing <= 1'b1;
      write_address <= s_axi_awaddr[SIZE_BITS-1:0];
      write_size <= s_axi_awsize;
      s_axi_bid <= s_axi_awid;
    end
    if (s_axi_wvalid && s_axi_wready) begin
      for (lane = 0; lane < DATA_BITS / 8; lane = lane + 1)
        if (s_axi_wstrb[lane])
          rows[write_address[SIZE_BITS-1:LANE_BITS]][8*lane +: 8] <= s_axi_wdata[8*lane +: 8];
      write_address <= ((write_address >> write_size) + 1'b1) << write_size;
      writing <= !s_axi_wlast;
      s_axi_bvalid <= s_axi_wlast;
    end
    if (s_axi_bvalid && s_axi_bready)
      s_axi_bvalid <= 1'b0;
    if (!aresetn) begin
      writing <= 1'b0;
      s_axi_bvalid <= 1'b0;
    end
  end
endmodule

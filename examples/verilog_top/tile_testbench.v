// Fills the memory of tile_top, waits until the core is done, and compares D with sums of integers.
module tile_testbench;
  reg clk = 0, rst_n = 0;
  wire done, failed;
  tile_top top (.clk(clk), .rst_n(rst_n), .done(done), .failed(failed));

  always #5 clk = !clk;

  function integer a(input integer row, input integer k);
    a = (3 * row + 5 * k) % 7 - 3;
  endfunction
  function integer b(input integer k, input integer column);
    b = (2 * k + 3 * column) % 5 - 2;
  endfunction

  // A small integer in f16 and in f32: 1.f times a power of two.
  function [31:0] bits(input integer value, input integer fraction_bits, input integer bias);
    integer magnitude, exponent;
    begin
      magnitude = value < 0 ? -value : value;
      exponent = 0;
      while (magnitude >> (exponent + 1) != 0) exponent = exponent + 1;
      bits = value == 0 ? 0 : ((exponent + bias) << fraction_bits) + ((magnitude << fraction_bits) >> exponent)
          - (1 << fraction_bits);
      if (value < 0) bits = bits | (fraction_bits == 10 ? 32'h0000_8000 : 32'h8000_0000);
    end
  endfunction

  integer i, j, k, sum, wrong;
  reg [31:0] found;
  initial begin
    wrong = 0;
    for (i = 0; i < 16; i = i + 1)
      for (k = 0; k < 16; k = k + 1) begin  // rows of the memory have 16 bytes, 8 elements of f16
        top.memory.rows[256 + 2 * i + k / 8][16 * (k % 8) +: 16] = bits(a(i, k), 10, 15);
        top.memory.rows[512 + 2 * i + k / 8][16 * (k % 8) +: 16] = bits(b(k, i), 10, 15);
      end
    repeat (4) @(posedge clk);
    rst_n <= 1;
    while (!done) @(posedge clk);
    for (i = 0; i < 16; i = i + 1)
      for (j = 0; j < 16; j = j + 1) begin
        sum = 0;
        for (k = 0; k < 16; k = k + 1) sum = sum + a(i, k) * b(k, j);
        found = top.memory.rows[768 + 4 * i + j / 4][32 * (j % 4) +: 32];
        if (found !== bits(sum, 23, 127)) begin
          wrong = wrong + 1;
          $display("row %0d, column %0d: expected %h, found %h", i, j, bits(sum, 23, 127), found);
        end
      end
    if (failed || wrong != 0) $display("FAIL");
    else $display("PASS");
    $finish;
  end
endmodule

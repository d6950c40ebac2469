// A model of the single-port RAM of an iCE40UP: 16384 words of 16 bits, nibbles of which can be written.
// A read shows its word after the clock edge; at a write the output stays.
module SB_SPRAM256KA (
  input wire [13:0] ADDRESS,
  input wire [15:0] DATAIN,
  input wire [3:0] MASKWREN,
  input wire WREN,
  input wire CHIPSELECT,
  input wire CLOCK,
  input wire STANDBY,
  input wire SLEEP,
  input wire POWEROFF,
  output reg [15:0] DATAOUT
);
  reg [15:0] words [0:16383];
  wire awake = POWEROFF && !SLEEP && !STANDBY;
  integer nibble;

  always @(posedge CLOCK)
    if (CHIPSELECT && awake) begin
      if (!WREN)
        DATAOUT <= words[ADDRESS];
      else
        for (nibble = 0; nibble < 4; nibble = nibble + 1)
          if (MASKWREN[nibble])
            words[ADDRESS][4 * nibble +: 4] <= DATAIN[4 * nibble +: 4];
    end
endmodule

// A core and a memory execute records of commands, writes and comparisons: kind, line of the program,
// address, number of words, and the words. Expected values are from the golden model.
/* verilator lint_off BLKSEQ */
/* verilator lint_off DECLFILENAME */
/* verilator lint_off UNUSED */
/* verilator lint_off WIDTH */
module openwmma_testbench;
  // PARAMETERS

  reg [31:0] stimulus [0:WORDS-1];
  // STIMULUS

  function string text(input integer line);
    case (line)
      // LINES
      default: text = "";
    endcase
    if (text != "") text = {text, ": "};
  endfunction

  reg aclk = 0, aresetn = 0;
  reg [ADDRESS_BITS-1:0] s_axil_awaddr, s_axil_araddr;
  reg s_axil_awvalid = 0, s_axil_wvalid = 0, s_axil_bready = 1, s_axil_arvalid = 0, s_axil_rready = 1;
  reg [31:0] s_axil_wdata;
  reg [3:0] s_axil_wstrb = 4'b1111;
  reg [2:0] s_axil_awprot = 0, s_axil_arprot = 0;
  wire s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid, irq;
  wire [1:0] s_axil_bresp, s_axil_rresp;
  wire [31:0] s_axil_rdata;

  openwmma_example example (.*);

  always #5 aclk = !aclk;

  integer place = 0, last_place = 0, quiet = 0, sent = 0, answered = 0;
  reg [31:0] kind, line = 0, address, count, found, data, answer;

  // What the core samples changes at falling edges alone.
  reg aw_taken = 0, w_taken = 0, ar_taken = 0, r_taken = 0;

  always @(posedge aclk) begin
    aw_taken <= s_axil_awvalid && s_axil_awready;
    w_taken <= s_axil_wvalid && s_axil_wready;
    ar_taken <= s_axil_arvalid && s_axil_arready;
    r_taken <= s_axil_rvalid && aresetn;
    if (s_axil_rvalid && aresetn) begin
      answer <= s_axil_rdata;
      if (s_axil_rresp != 0) $fatal(1, "%sa read answered with response %0d", text(line), s_axil_rresp);
    end
    last_place <= place;
    quiet <= place == last_place ? quiet + 1 : 0;
    if (quiet > 1_000_000) $fatal(1, "%sno end within 1 000 000 cycles", text(line));
    if (aresetn && s_axil_bvalid) begin
      answered <= answered + 1;
      if (s_axil_bresp != 0) $fatal(1, "%sa write answered with response %0d", text(line), s_axil_bresp);
    end
  end

  task take(output [31:0] word);
    begin
      word = stimulus[place];
      place = place + 1;
    end
  endtask

  task write(input [ADDRESS_BITS-1:0] to, input [31:0] value);
    begin
      s_axil_awaddr = to;
      s_axil_wdata = value;
      s_axil_awvalid = 1;
      s_axil_wvalid = 1;
      while (s_axil_awvalid || s_axil_wvalid) begin
        @(negedge aclk);
        if (aw_taken) s_axil_awvalid = 0;
        if (w_taken) s_axil_wvalid = 0;
      end
      sent = sent + 1;
    end
  endtask

  task read(input [ADDRESS_BITS-1:0] from);
    begin
      while (sent != answered) @(negedge aclk);
      s_axil_araddr = from;
      s_axil_arvalid = 1;
      while (s_axil_arvalid) begin
        @(negedge aclk);
        if (ar_taken) s_axil_arvalid = 0;
      end
      while (!r_taken) @(negedge aclk);
      found = answer;
    end
  endtask

  task poll;
    begin
      read(STATUS);
      if (found[FAULT]) $fatal(1, "%sthis command or an earlier one must not fail", text(failing));
    end
  endtask

  reg [31:0] words [0:COMMAND_WORDS-1], written [0:COMMAND_WORDS-1];
  integer failing = 0, item, room [0:15];

  // Words that are the same as in the command before are not written again.
  task push;
    integer warp;
    begin
      for (item = 0; item < COMMAND_WORDS; item = item + 1) take(words[item]);
      warp = words[0][31:28];
      if (room[warp] == 0) begin
        if (WARPS > 1) write(WARP, warp);
        poll;
        while ((found >> FREE_SHIFT & FREE_MASK) == 0) poll;
        room[warp] = found >> FREE_SHIFT & FREE_MASK;
      end
      for (item = COMMAND_WORDS - 1; item > 0; item = item - 1)
        if (words[item] !== written[item]) begin
          write(COMMAND_REGISTER + 4 * item, words[item]);
          written[item] = words[item];
        end
      write(COMMAND_REGISTER, words[0]);
      room[warp] = room[warp] - 1;
    end
  endtask

  // Memory, and what it must hold in the end.
  reg [31:0] memory_after [0:MEMORY_WORDS-1];
  integer word;

  task poke;
    begin
      example.memory.rows[word / ROW_WORDS][32 * (word % ROW_WORDS) +: 32] = data;
      memory_after[word] = data;
    end
  endtask

  task peek;
    begin
      found = example.memory.rows[word / ROW_WORDS][32 * (word % ROW_WORDS) +: 32];
      if (found !== data)
        $fatal(1, "%smemory at %h: expected %h, found %h", text(line), 4 * word, data, found);
      memory_after[word] = data;
    end
  endtask

  task compare;
    begin
      read(address);
      if (found !== data && address < SHARED_WINDOW)
        $fatal(1, "%sregister %0d, lane %0d: expected %h, found %h", text(line),
               (address - WINDOW) / 128, address / 4 % 32, data, found);
      if (found !== data)
        $fatal(1, "%sshared memory at %h: expected %h, found %h", text(line), address - SHARED_WINDOW,
               data, found);
    end
  endtask

  initial begin
    for (item = 0; item < 16; item = item + 1) room[item] = 0;
    for (word = 0; word < MEMORY_WORDS; word = word + 1) memory_after[word] = 0;
    repeat (4) @(negedge aclk);
    aresetn = 1;
    @(negedge aclk);
    read(0);
    if (found !== IDENTITY) $fatal(1, "a core must be there, not %h", found);
    take(kind);
    while (kind != END) begin
      take(line);
      take(address);
      take(count);
      if (kind == COMMAND) begin
        push;
        failing = line;
      end
      if (kind == WAIT) begin
        poll;
        while (found[BUSY]) poll;
      end
      if (kind >= WRITE)
        for (item = 0; item < count; item = item + 1) begin
          take(data);
          word = address / 4 % MEMORY_WORDS;
          if (kind == WRITE) poke;
          if (kind == CHECK) peek;
          if (kind == HOST_WRITE) write(address, data);
          if (kind == HOST_CHECK) compare;
          address = address + 4;
        end
      take(kind);
    end
    line = 32'hffff_ffff;
    for (word = 0; word < MEMORY_WORDS; word = word + 1) begin
      data = memory_after[word];
      peek;
    end
    $display("PASS");
    $finish;
  end
endmodule

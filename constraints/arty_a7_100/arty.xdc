# Digilent Arty A7-100T: what the board top needs, after the board's published schematics and reference
# manual. All banks used here are supplied with 3.3 V, hence LVCMOS33 throughout.

# Configuration: the bank of the configuration pins has 3.3 V as well; the bitstream may be compressed and
# is read from the flash over four wires, for a start in less than a second.
set_property CFGBVS VCCO [current_design]
set_property CONFIG_VOLTAGE 3.3 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 4 [current_design]
set_property BITSTREAM.CONFIG.CONFIGRATE 33 [current_design]

# The oscillator of 100 MHz, at a pin that reaches the clock multipliers directly. Vivado derives the
# multiplied clock from it.
set_property -dict { PACKAGE_PIN E3 IOSTANDARD LVCMOS33 } [get_ports { clk }]
create_clock -period 10.000 -name clk [get_ports { clk }]

# Button RESET closes to ground; the board pulls it up, so it reads 1 unless pressed.
set_property -dict { PACKAGE_PIN C2 IOSTANDARD LVCMOS33 } [get_ports { button }]

# The FT2232H, seen from the FPGA: rx is what the schematics call uart_txd_in, tx is uart_rxd_out.
set_property -dict { PACKAGE_PIN A9 IOSTANDARD LVCMOS33 PULLUP true } [get_ports { rx }]
set_property -dict { PACKAGE_PIN D10 IOSTANDARD LVCMOS33 DRIVE 4 SLEW SLOW } [get_ports { tx }]

# The lamps LD4 to LD7, lit by a 1: alive, activity, fault, line.
set_property -dict { PACKAGE_PIN H5 IOSTANDARD LVCMOS33 DRIVE 4 SLEW SLOW } [get_ports { leds[0] }]
set_property -dict { PACKAGE_PIN J5 IOSTANDARD LVCMOS33 DRIVE 4 SLEW SLOW } [get_ports { leds[1] }]
set_property -dict { PACKAGE_PIN T9 IOSTANDARD LVCMOS33 DRIVE 4 SLEW SLOW } [get_ports { leds[2] }]
set_property -dict { PACKAGE_PIN T10 IOSTANDARD LVCMOS33 DRIVE 4 SLEW SLOW } [get_ports { leds[3] }]

# Nothing outside the FPGA is synchronous to its clock: rx passes two registers, the button the reset
# synchroniser, and tx and the lamps are slower than a clock by far. No path to or from these pins is timed.
set_false_path -from [get_ports { button rx }]
set_false_path -to [get_ports { tx leds[*] }]

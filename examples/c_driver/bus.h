// What the driver needs of the system around the core. On a processor these are a few lines: a register is a
// volatile word at the core's base address, memory is an array, the wait an instruction for interrupts.
#ifndef BUS_H
#define BUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t register_read(uint32_t offset);
void register_write(uint32_t offset, uint32_t value);
void wait_for_interrupt(void);
extern uint8_t memory[1 << 16];  // what the core sees from address 0 on

#ifdef __cplusplus
}
#endif
#endif

// From the BIOS to a program's main() and back: console, traps of the processor, and the exit code.

#include <stdio.h>
#include <stdlib.h>

#include <generated/csr.h>
#include <irq.h>
#include <libbase/uart.h>
#include <system.h>

#include "openwmma.h"

int __real_main(void);
int __wrap_main(void);
void __real_isr(void);
void __wrap_isr(void);

// A line that openwmma soc --simulate reads; in a simulation, this ends it.
static void __attribute__((noreturn)) leave(int code)
{
	printf("\n[openwmma exit %d]\n", code);
	uart_sync();
#ifdef CSR_SIM_FINISH_FINISH_ADDR
	sim_finish_finish_write(1);
#endif
	for (;;)
		;
}

void exit(int code)
{
	leave(code);
}

int __wrap_main(void)
{
	irq_setmask(0);
	irq_setie(1);
	uart_init();
#if DUMPS
	sim_trace_enable_write(1);
#endif
	leave(__real_main());
}

void __wrap_isr(void)
{
	if ((long)csrr(mcause) < 0) {
		__real_isr();
		return;
	}
	irq_setie(1);  // the console works by interrupts
	printf("\nprocessor trap: cause %lu at %#lx, address %#lx; the core's fault: %s\n", csrr(mcause), csrr(mepc),
	       csrr(mtval), openwmma_cause_name(openwmma_take_fault().cause));
	leave(3);
}

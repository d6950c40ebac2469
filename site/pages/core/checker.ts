// Compares what the core left in registers and memory with what golden makes of the program.
import { bytesOf, type Answer, type Expected, hexadecimalOf, type Question } from "../../src/core/program";
import { cycleCount } from "../../src/core/timeline";
import { RegisterState } from "../../src/core/state";
import type { WorkerClient } from "../../src/workers/worker_client";
import type { Finished } from "./result_view";

export interface Verdict {
  readonly equal: boolean;
  readonly text: string;
}

/** Asks golden for one command after the other; `report` is told how many are done. */
export async function compareWithGolden(
  worker: WorkerClient<Question, Answer>,
  finished: Finished,
  report: (done: number) => void,
): Promise<Verdict> {
  const { run, description, commands, memory, base } = finished;
  await worker.ask({ kind: "begin", base, memory: hexadecimalOf(memory), registers: description.registers });
  for (const [index, { command }] of commands.entries()) {
    report(index);
    await worker.ask({ kind: "golden", command });
  }
  const expected = (await worker.ask({ kind: "end" })) as Expected;
  const state = new RegisterState(run, description, cycleCount(run));
  const wanted = new Uint32Array(bytesOf(expected.registers).buffer);
  const register = state.values.findIndex((word, index) => word !== wanted[index]);
  const bytes = bytesOf(expected.memory);
  const byte = run.memory.findIndex((value, index) => value !== bytes[index]);
  if (register >= 0) {
    const [number, lane] = [Math.floor(register / description.lanes), register % description.lanes];
    const words = `${hexadecimal(state.values[register], 8)} in hardware and ${hexadecimal(wanted[register], 8)} in golden`;
    return { equal: false, text: `Register ${number} of lane ${lane} differs: ${words}.` };
  }
  if (byte >= 0) {
    const words = `${hexadecimal(run.memory[byte], 2)} in hardware and ${hexadecimal(bytes[byte], 2)} in golden`;
    return { equal: false, text: `The byte at ${hexadecimal(base + byte, 8)} differs: ${words}.` };
  }
  const size = `${description.registers} registers of ${description.lanes} lanes and ${bytes.length} bytes of memory`;
  return { equal: true, text: `Equal to golden: ${size} hold the same bits.` };
}

function hexadecimal(value: number | undefined, digits: number): string {
  return `0x${(value ?? 0).toString(16).padStart(digits, "0")}`;
}

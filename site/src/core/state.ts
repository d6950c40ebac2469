// Registers and memory at the beginning of any cycle, from what was written before it.
import type { CoreDescription, Run } from "./run";

const WRITE_WORDS = 7;
const BEAT_WORDS = 8;
const BEAT_BYTES = 16;

/** The register file, by register and lane. */
export class RegisterState {
  readonly values: Uint32Array;
  /** The cycle in which each register was last written; -1 for never. */
  readonly written: Int32Array;

  constructor(
    run: Run,
    private readonly description: CoreDescription,
    cycle: number,
  ) {
    const { lanes, registers, lanes_per_word: perWord } = description;
    this.values = new Uint32Array(registers * lanes);
    this.written = new Int32Array(registers).fill(-1);
    for (let at = 0; at < run.writes.length; at += WRITE_WORDS) {
      const [when = 0, address = 0, mask = 0] = run.writes.subarray(at, at + 3);
      if (when >= cycle) break;
      // A word has one register of some neighbouring lanes; words of a register follow each other.
      const first = address * perWord;
      for (let lane = 0; lane < perWord; lane += 1) {
        if ((mask >>> lane) & 1) this.values[first + lane] = run.writes[at + 3 + lane] ?? 0;
      }
      this.written[Math.floor(first / lanes)] = when;
    }
  }

  /** The lanes of a register. */
  lanes(register: number): Uint32Array {
    const { lanes } = this.description;
    return this.values.subarray(register * lanes, (register + 1) * lanes);
  }
}

export interface Beat {
  readonly cycle: number;
  readonly isWrite: boolean;
  readonly address: number;
}

/** Memory at the beginning of a cycle, from what it held at first. */
export function memoryAt(run: Run, first: Uint8Array, base: number, cycle: number): Uint8Array {
  const bytes = first.slice();
  for (let at = 0; at < run.beats.length; at += BEAT_WORDS) {
    const [when = 0, isWrite = 0, address = 0, strobe = 0] = run.beats.subarray(at, at + 4);
    if (when >= cycle) break;
    if (!isWrite) continue;
    for (let byte = 0; byte < BEAT_BYTES; byte += 1) {
      const word = run.beats[at + 4 + (byte >>> 2)] ?? 0;
      if ((strobe >>> byte) & 1) bytes[address - base + byte] = (word >>> (8 * (byte & 3))) & 255;
    }
  }
  return bytes;
}

/** What passed the bus in the cycles `from` up to, not including, `to`. */
export function beatsBetween(run: Run, from: number, to: number): Beat[] {
  const found: Beat[] = [];
  for (let at = 0; at < run.beats.length; at += BEAT_WORDS) {
    const [cycle = 0, isWrite = 0, address = 0] = run.beats.subarray(at, at + 3);
    if (cycle >= from && cycle < to) found.push({ cycle, isWrite: isWrite !== 0, address });
  }
  return found;
}

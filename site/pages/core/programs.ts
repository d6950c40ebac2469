// The prepared programs, with what their parameters are at first.
import beyondMemory from "./programs/beyond_memory.ptx";
import matrixMultiply from "./programs/matrix_multiply.ptx";
import oneTile from "./programs/one_tile.ptx";
import throughMemory from "./programs/through_memory.ptx";
import twoSets from "./programs/two_sets.ptx";

export type Fill = "zeros" | "ones" | "identity" | "counting" | "halves" | "alternating";
export type Element = "f16" | "f32";

/** What a buffer holds at first. */
export interface BufferSetting {
  readonly fill: Fill;
  readonly type: Element;
  readonly columns: number;
}

export interface Prepared {
  readonly id: string;
  /** Of its file. */
  readonly file: string;
  readonly title: string;
  readonly story: string;
  readonly text: string;
  readonly buffers: Readonly<Record<string, BufferSetting>>;
  readonly numbers: Readonly<Record<string, number>>;
}

const f16 = (fill: Fill, columns: number): BufferSetting => ({ fill, type: "f16", columns });
const f32 = (fill: Fill, columns: number): BufferSetting => ({ fill, type: "f32", columns });

export const PROGRAMS: readonly Prepared[] = [
  {
    id: "one-tile",
    file: "one_tile",
    title: "One tile: load, multiply, store",
    story: "Three loads, one multiply, one store. Nothing overlaps for long: the multiply needs all three fragments, the store its result.",
    text: oneTile,
    buffers: { A: f16("halves", 16), B: f16("identity", 16), C: f32("counting", 16), D: f32("zeros", 16) },
    numbers: {},
  },
  {
    id: "two-sets",
    file: "two_sets",
    title: "Two sets of registers: loads beside multiplies",
    story: "While one pair of tiles is multiplied, the next pair is loaded into other registers. Compare it with the loop, which has one set.",
    text: twoSets,
    buffers: { A: f16("halves", 64), B: f16("counting", 16), D: f32("zeros", 16) },
    numbers: {},
  },
  {
    id: "matrix-multiply",
    file: "matrix_multiply",
    title: "A matrix multiply in a loop",
    story: "Every turn of the loop loads into the same registers. A load waits until the multiply before it has read them.",
    text: matrixMultiply,
    buffers: { A: f16("halves", 32), B: f16("counting", 32), D: f32("zeros", 32) },
    numbers: { n: 32 },
  },
  {
    id: "through-memory",
    file: "through_memory",
    title: "A result through memory",
    story: "A load of bytes that a store is still writing waits for the store: the scoreboard compares addresses too.",
    text: throughMemory,
    buffers: { A: f16("halves", 16), B: f16("counting", 16), C: f32("ones", 16), D: f32("zeros", 16) },
    numbers: {},
  },
  {
    id: "beyond-memory",
    file: "beyond_memory",
    title: "A fault",
    story: "The store's address lies where there is no memory. The bus answers with an error; the core says which instruction failed.",
    text: beyondMemory,
    buffers: { A: f16("ones", 16), B: f16("identity", 16), D: f32("zeros", 16) },
    numbers: {},
  },
];

// The programs of the page as `site/rtl/programs.py` writes them, and what `answers.core_program` is asked.

/** A command as `golden.programs.values` has it. */
export type CommandData = object;

export type Question =
  | { readonly kind: "contents"; readonly fill: string; readonly type: string; readonly columns: number; readonly bytes: number }
  | { readonly kind: "begin"; readonly base: number; readonly memory: string; readonly registers: number }
  | { readonly kind: "golden"; readonly command: CommandData }
  | { readonly kind: "end" };

export interface Parameter {
  readonly name: string;
  readonly type: string;
}

export interface Command {
  readonly words: readonly number[];
  readonly line: number;
  readonly text: string;
  readonly command: CommandData;
}

export interface Variant {
  readonly numbers: Readonly<Record<string, number>>;
  readonly commands: readonly Command[];
}

export interface Program {
  readonly name: string;
  readonly registers: number;
  readonly parameters: readonly Parameter[];
  /** For each choice of the numbers the commands that the program gives. */
  readonly variants: readonly Variant[];
}

export interface Contents {
  readonly bytes: string;
}

/** What golden leaves in memory and registers, as hexadecimal text. */
export interface Expected {
  readonly memory: string;
  readonly registers: string;
}

export type Answer = Contents | Expected | Readonly<Record<string, never>>;

/** All programs by name. */
export async function loadPrograms(): Promise<Readonly<Record<string, Program>>> {
  const response = await fetch(new URL("../data/programs.json", import.meta.url));
  if (!response.ok) throw new Error(`data/programs.json: ${response.status} ${response.statusText}`);
  return (await response.json()) as Readonly<Record<string, Program>>;
}

/** The bytes of hexadecimal text. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: text.length / 2 }, (_, index) => Number.parseInt(text.slice(2 * index, 2 * index + 2), 16));
}

/** Bytes as hexadecimal text. */
export function hexadecimalOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

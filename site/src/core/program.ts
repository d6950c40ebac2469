// What `openwmma.learn.core_program` is asked and answers.
import type { CoreDescription } from "./run";

export type Question =
  | { readonly kind: "parameters"; readonly text: string }
  | {
      readonly kind: "compile";
      readonly text: string;
      readonly arguments: Readonly<Record<string, number>>;
      readonly description: CoreDescription;
    }
  | { readonly kind: "contents"; readonly fill: string; readonly type: string; readonly columns: number; readonly bytes: number }
  | { readonly kind: "begin"; readonly base: number; readonly memory: string; readonly registers: number }
  | { readonly kind: "golden"; readonly index: number }
  | { readonly kind: "end" };

export interface Refusal {
  readonly error: string;
  /** Of the program; 0 where it concerns none. */
  readonly line: number;
}

export interface Parameter {
  readonly name: string;
  readonly type: string;
}

export interface Parameters {
  readonly name: string;
  readonly registers: number;
  readonly parameters: readonly Parameter[];
}

export interface Command {
  readonly words: readonly number[];
  readonly line: number;
  readonly text: string;
}

export interface Commands {
  readonly commands: readonly Command[];
}

export interface Contents {
  readonly bytes: string;
}

/** What golden leaves in memory and registers, as hexadecimal text. */
export interface Expected {
  readonly memory: string;
  readonly registers: string;
}

export type Answer = Refusal | Parameters | Commands | Contents | Expected | Readonly<Record<string, never>>;

/** Whether an answer is a refusal. */
export function isRefusal(answer: object): answer is Refusal {
  return "error" in answer;
}

/** The bytes of hexadecimal text. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: text.length / 2 }, (_, index) => Number.parseInt(text.slice(2 * index, 2 * index + 2), 16));
}

/** Bytes as hexadecimal text. */
export function hexadecimalOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

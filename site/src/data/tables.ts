// The instruction set as `openwmma.learn.instruction_tables` writes it.

export interface Shape {
  readonly text: string;
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

export type Mnemonic = "wmma" | "mma" | "wgmma";

export interface Family {
  readonly mnemonic: Mnemonic;
  readonly shapes: readonly Shape[];
  readonly multiplicands: readonly string[];
  readonly mixed: boolean;
  readonly accumulators: readonly string[];
  readonly sameAccumulators: boolean;
  readonly fixedLayout: boolean;
  readonly saturate: "never" | "integer" | "float";
  readonly roundings: readonly string[];
  readonly operations: readonly string[];
}

export interface Format {
  readonly float: boolean;
  readonly bits: number;
  readonly exponentBits?: number;
  readonly fractionBits?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface Profile {
  readonly name: string;
  readonly exact: boolean;
  /** Positions of the families that it executes. */
  readonly families: readonly number[];
  readonly fractionBits: number | null;
  readonly measured: boolean;
}

export interface InstructionTables {
  readonly families: readonly Family[];
  readonly formats: Readonly<Record<string, Format>>;
  readonly profiles: readonly Profile[];
}

/** Loads a table of the folder data/. */
export async function loadTable<T>(name: string): Promise<T> {
  const response = await fetch(new URL(`data/${name}.json`, document.baseURI));
  if (!response.ok) throw new Error(`data/${name}.json: ${response.status} ${response.statusText}`);
  return (await response.json()) as T;
}

// The instruction set as `answers.tables` writes it.

export interface Shape {
  readonly text: string;
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

export type Mnemonic = "wmma" | "mma" | "wgmma";

export interface Family {
  readonly mnemonic: Mnemonic;
  /** Kind, vector size and type of block scales with dots between; "" without a kind. */
  readonly kinds: readonly string[];
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

export type Use = "a" | "b" | "c" | "d";
export type Layout = "row" | "col";

/** A fragment as `answers.tables` writes it. */
export interface Fragment {
  readonly mnemonic: "wmma" | "mma";
  readonly use: Use;
  readonly type: string;
  readonly shape: string;
  readonly rows: number;
  readonly columns: number;
  readonly bits: number;
  readonly registers: number;
  readonly layouts: readonly Layout[];
  /** Index of its list of positions. */
  readonly positions: number;
}

export interface FragmentTables {
  readonly lanes: number;
  readonly fragments: readonly Fragment[];
  /** Element (row * columns + column) at each place of lane 0 in register order, then of lane 1, and so on. */
  readonly positions: readonly (readonly number[])[];
}

/** A fragment on its way through the banks, as `answers.transposition_tables` writes it. */
export interface Transposition {
  readonly use: Use;
  readonly type: string;
  readonly shape: string;
  readonly layout: Layout;
  readonly rows: number;
  readonly columns: number;
  readonly bits: number;
  readonly pattern: string;
  readonly lineBytes: number;
  readonly segments: readonly { readonly line: number; readonly segment: number; readonly skew: number }[];
  readonly words: readonly {
    readonly register: number;
    readonly quad: number;
    readonly skew: number;
    readonly swap: number;
    readonly places: readonly (readonly [number, number])[];
  }[];
}

// What the worker of the core is asked and answers.

/** As `site/rtl/describe.py` writes it. */
export interface CoreDescription {
  readonly profile: string;
  readonly formats: readonly string[];
  readonly registers: number;
  readonly lanes: number;
  readonly lanes_per_word: number;
  readonly queue_depth: number;
  readonly units: readonly string[];
  readonly footprint: readonly { readonly offset: number; readonly is_write: boolean }[];
}

export type Question =
  | { readonly kind: "describe" }
  | {
      readonly kind: "run";
      readonly memory: Uint8Array;
      readonly commands: readonly (readonly number[])[];
      /** Cycles until the memory answers. */
      readonly latency: number;
    };

export interface Described {
  readonly description: CoreDescription;
  readonly base: number;
  readonly bytes: number;
}

export type Outcome = "unfinished" | "done" | "fault";

/** What the harness noted, as 32-bit words; `site/rtl/harness/core.cpp` says what each means. */
export interface Run {
  readonly outcome: Outcome;
  readonly cause: number;
  readonly index: number;
  readonly cycles: Uint32Array;
  readonly starts: Uint32Array;
  readonly writes: Uint32Array;
  readonly beats: Uint32Array;
  readonly arrivals: Uint32Array;
  readonly memory: Uint8Array;
  readonly milliseconds: number;
}

export type Answer = Described | Run;

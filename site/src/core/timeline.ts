// From what the harness noted in each cycle to the life of every command.
import type { CoreDescription, Run } from "./run";

export interface Registers {
  readonly first: number;
  readonly last: number;
}

export type WaitKind = "registers" | "memory" | "unit";

/** Cycles `from` up to, not including, `to` in which a command could not go on. */
export interface Wait {
  readonly kind: WaitKind;
  readonly from: number;
  to: number;
  /** The registers it asked about; only where it waits for registers. */
  readonly operand: Registers | undefined;
  readonly isWrite: boolean;
  /** The command that it waits for, where one can be named. */
  readonly blocker: number | undefined;
  /** The unit has as many commands as it can hold. */
  readonly full: boolean;
}

/** Cycles are numbers; undefined for what never happened. */
export interface Life {
  readonly index: number;
  arrived: number | undefined;
  taken: number | undefined;
  started: number | undefined;
  fetched: number | undefined;
  done: number | undefined;
  unit: string | undefined;
  reads: readonly Registers[];
  write: Registers | undefined;
  readonly waits: Wait[];
}

export interface Cycle {
  readonly stallRegisters: boolean;
  readonly stallMemory: boolean;
  readonly stallUnit: boolean;
  readonly stallEmpty: boolean;
  readonly taken: boolean;
  readonly started: boolean;
  readonly full: boolean;
  readonly fetched: number;
  readonly done: number;
  readonly reads: boolean;
  readonly writes: boolean;
  readonly multiplies: boolean;
}

const START_WORDS = 5;

/** What was noted in a cycle; the bits stand in the order in which the harness adds them. */
export function cycleOf(run: Run, cycle: number): Cycle {
  const flags = run.cycles[cycle] ?? 0;
  const bit = (place: number): boolean => ((flags >>> place) & 1) === 1;
  return {
    stallRegisters: bit(0),
    stallMemory: bit(1),
    stallUnit: bit(2),
    stallEmpty: bit(3),
    taken: bit(4),
    started: bit(5),
    full: bit(6),
    fetched: (flags >>> 7) & 31,
    done: (flags >>> 12) & 31,
    reads: bit(18),
    writes: bit(20),
    multiplies: bit(21),
  };
}

export function cycleCount(run: Run): number {
  return run.cycles.length;
}

function newLife(index: number): Life {
  return {
    index,
    arrived: undefined,
    taken: undefined,
    started: undefined,
    fetched: undefined,
    done: undefined,
    unit: undefined,
    reads: [],
    write: undefined,
    waits: [],
  };
}

const overlap = (one: Registers, other: Registers): boolean => one.first <= other.last && other.first <= one.last;

/** The lives of `count` commands, in their order. */
export function livesOf(run: Run, description: CoreDescription, count: number): Life[] {
  const lives = Array.from({ length: count }, (_, index) => newLife(index));
  lives.forEach((life) => (life.arrived = run.arrivals[life.index]));
  const units: Life[][] = description.units.map(() => []);
  let next = 0;
  let started = 0;
  for (let cycle = 0; cycle < cycleCount(run); cycle += 1) {
    const now = cycleOf(run, cycle);
    const current = next > started ? lives[started] : undefined;
    const allocated = run.starts[START_WORDS * started];
    const unit = run.starts[START_WORDS * started + 1] ?? 0;
    if (current !== undefined && current.unit === undefined && allocated !== undefined && allocated < cycle) {
      current.unit = description.units[unit];
      readFootprint(current, run, description, started);
    }
    if (current !== undefined && !now.started) noteWait(current, cycle, now, description, units);
    if (now.started && current !== undefined) {
      current.started = cycle;
      units[unit]?.push(current);
      started += 1;
    }
    if (now.taken) {
      const life = lives[next];
      if (life !== undefined) life.taken = cycle;
      next += 1;
    }
    units.forEach((queue, unit) => {
      if ((now.fetched >>> unit) & 1) {
        const unread = queue.find((life) => life.fetched === undefined);
        if (unread !== undefined) unread.fetched = cycle;
      }
      if ((now.done >>> unit) & 1) {
        const oldest = queue.shift();
        if (oldest !== undefined) oldest.done = cycle;
      }
    });
  }
  return lives;
}

function readFootprint(life: Life, run: Run, description: CoreDescription, place: number): void {
  const words = run.starts.subarray(START_WORDS * place + 2, START_WORDS * (place + 1));
  const bits = words.reduceRight((whole, word) => (whole << 32n) | BigInt(word), 0n);
  const ranges = description.footprint.flatMap(({ offset, is_write: isWrite }) => {
    const range = bits >> BigInt(offset);
    if ((range & 1n) === 0n) return [];
    return [{ isWrite, first: Number((range >> 1n) & 255n), last: Number((range >> 9n) & 255n) }];
  });
  life.reads = ranges.filter(({ isWrite }) => !isWrite);
  life.write = ranges.find(({ isWrite }) => isWrite);
}

interface Blocked {
  readonly operand: Registers | undefined;
  readonly isWrite: boolean;
  readonly blocker: Life | undefined;
}

function noteWait(life: Life, cycle: number, now: Cycle, description: CoreDescription, units: readonly Life[][]): void {
  const kind = now.stallRegisters ? "registers" : now.stallMemory ? "memory" : now.stallUnit ? "unit" : undefined;
  if (kind === undefined) return;
  const { operand, isWrite, blocker } = blockedBy(kind, life, description, units);
  const last = life.waits.at(-1);
  if (last?.kind === kind && last.to === cycle && last.blocker === blocker?.index) {
    last.to = cycle + 1;
    return;
  }
  life.waits.push({ kind, from: cycle, to: cycle + 1, operand, isWrite, blocker: blocker?.index, full: now.full });
}

/** The command in flight that the scoreboard's rule names, and the operand: see `hdl/control/scoreboard.py`. */
function blockedBy(kind: WaitKind, life: Life, description: CoreDescription, units: readonly Life[][]): Blocked {
  const own = description.units.indexOf(life.unit ?? "");
  const nobody = { operand: undefined, isWrite: false };
  if (kind === "unit") return { ...nobody, blocker: units[own]?.at(-1) };
  if (kind === "memory") {
    const other = description.units.indexOf(life.unit === "load" ? "store" : "load");
    return { ...nobody, blocker: units[other]?.at(-1) };
  }
  const operands = life.reads.map((operand) => ({ operand, isWrite: false }));
  if (life.write !== undefined) operands.push({ operand: life.write, isWrite: true });
  const found = operands.flatMap(({ operand, isWrite }) =>
    units.flatMap((queue, unit) =>
      queue
        .filter((other) => {
          const isOther = unit !== own;
          const writes = other.write !== undefined && overlap(other.write, operand) && (!isWrite || isOther);
          const reads = other.fetched === undefined && isWrite && isOther && other.reads.some((range) => overlap(range, operand));
          return writes || reads;
        })
        .map((blocker) => ({ operand, isWrite, blocker })),
    ),
  );
  return found.at(0) ?? { ...nobody, blocker: undefined };
}

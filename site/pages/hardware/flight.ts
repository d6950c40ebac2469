// One operation on its way through the unit: when it entered, what its stages showed, and where golden differs.
import type { Operation } from "../../src/hardware/operations";
import type { Signal, Unit } from "../../src/hardware/unit";

export interface Entry {
  readonly title: string;
  readonly format: string;
  readonly detail: string;
  readonly operation: Operation;
}

export interface Difference {
  readonly signal: Signal;
  readonly element: number;
  readonly found: bigint;
  readonly expected: bigint;
}

export interface Comparison {
  readonly signal: Signal;
  readonly key: string;
  readonly expected: readonly bigint[];
  /** Undefined until the operation has come so far. */
  readonly found: readonly bigint[] | undefined;
  readonly differences: readonly Difference[];
}

export const keyOf = (signal: Signal): string => `${signal.stage}.${signal.field}`;

export class Flight {
  acceptedAt: number | undefined;
  result: number | undefined;
  readonly seen = new Map<string, bigint[]>();

  constructor(
    readonly number: number,
    readonly entry: Entry,
  ) {}

  /** Cycles since it was accepted; 0 while it waits. */
  age(cycle: number): number {
    return this.acceptedAt === undefined ? 0 : cycle - this.acceptedAt;
  }

  /** Keeps the outputs that are this operation's after a step; `cycle` counts that step. */
  observe(unit: Unit, cycle: number): void {
    const age = this.age(cycle);
    if (age === 0) return;
    for (const signal of unit.description.signals) {
      if (signal.cycle === age) this.seen.set(keyOf(signal), unit.value(signal));
    }
  }

  restart(): void {
    this.acceptedAt = undefined;
    this.result = undefined;
    this.seen.clear();
  }

  /** Every signal that golden has too, in the order of the stages. */
  compare(signals: readonly Signal[]): Comparison[] {
    return signals.flatMap((signal) => {
      const key = keyOf(signal);
      const expected = this.entry.operation.expected[key]?.map(BigInt);
      if (expected === undefined) return [];
      const found = this.seen.get(key);
      return [{ signal, key, expected, found, differences: found === undefined ? [] : differences(signal, found, expected) }];
    });
  }
}

function differences(signal: Signal, found: readonly bigint[], expected: readonly bigint[]): Difference[] {
  return expected.flatMap((value, element) => {
    const here = found[element] ?? 0n;
    return here === value ? [] : [{ signal, element, found: here, expected: value }];
  });
}

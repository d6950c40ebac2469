// The dot-product unit, one clock cycle at a time.
import { loadRtl, type RtlModule } from "../rtl/module";

export interface Signal {
  readonly stage: string;
  readonly field: string;
  /** Cycles from the acceptance of an operation to this output. */
  readonly cycle: number;
  /** Its first 32-bit word among all outputs. */
  readonly offset: number;
  readonly width: number;
  readonly count: number;
  readonly signed: boolean;
}

export interface Stage {
  readonly name: string;
  readonly start: number;
  readonly latency: number;
}

/** As `site/rtl/describe.py` writes it. */
export interface UnitDescription {
  readonly profile: string;
  readonly formats: readonly string[];
  readonly latency: number;
  readonly words: number;
  readonly stages: readonly Stage[];
  readonly signals: readonly Signal[];
  readonly exponent_zero: { readonly narrow: number; readonly wide: number };
  readonly multiplicands: Readonly<Record<string, number>>;
  readonly window: number;
  readonly fraction_bits: number;
}

export interface StepResult {
  /** The offered operands were accepted. */
  readonly accepted: boolean;
  /** The result that left, if one did. */
  readonly result: number | undefined;
}

export class Unit {
  private readonly operands: number;
  private readonly outputs: number;

  private constructor(
    private readonly module: RtlModule,
    readonly description: UnitDescription,
  ) {
    this.operands = module.call("operands_address");
    this.outputs = module.call("observed_address");
    this.reset();
  }

  static async load(folder: URL): Promise<Unit> {
    return new Unit(...(await loadRtl<UnitDescription>("unit", folder)));
  }

  reset(): void {
    this.module.call("reset");
  }

  /** One cycle, in which an operation may be offered; results are always taken. */
  step(words: readonly number[] | undefined): StepResult {
    if (words !== undefined) this.module.words(this.operands, words.length).set(words);
    const events = this.module.call("step", words === undefined ? 0 : 1, 1);
    return {
      accepted: (events & 1) !== 0,
      result: (events & 2) !== 0 ? this.module.call("result_word") : undefined,
    };
  }

  /** The elements of an output after the last step, as unsigned numbers. */
  value(signal: Signal): bigint[] {
    const words = this.module.words(this.outputs, this.description.words);
    const count = Math.ceil((signal.width * signal.count) / 32);
    let whole = 0n;
    for (let index = count - 1; index >= 0; index -= 1) {
      whole = (whole << 32n) | BigInt(words[signal.offset + index] ?? 0);
    }
    const width = BigInt(signal.width);
    return Array.from({ length: signal.count }, (_, index) => BigInt.asUintN(signal.width, whole >> (width * BigInt(index))));
  }
}

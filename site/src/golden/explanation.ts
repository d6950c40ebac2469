// What `answers.microscope` is asked and answers. Numbers with many bits are strings.

export interface Question {
  readonly instruction: string;
  readonly profile: string;
  readonly a: string;
  readonly b: string;
  readonly c: string;
  readonly scale_a: string;
  readonly scale_b: string;
}

export type Field = "instruction" | "profile" | "a" | "b" | "c" | "scale_a" | "scale_b";

export interface FieldError {
  readonly field: Field;
  readonly message: string;
}

export interface Refused {
  readonly errors: readonly [FieldError, ...FieldError[]];
}

export interface Explained {
  readonly errors: readonly [];
  readonly title: string;
  readonly profile: string;
  readonly notes: readonly string[];
  readonly steps: readonly Step[];
  readonly result: Result;
  /** The exact sum before any rounding; empty where a term is not finite. */
  readonly exactSum: string;
  readonly comparison: readonly Compared[];
}

export type Answer = Refused | Explained;

export interface Result {
  readonly format: string;
  readonly bits: string;
  readonly value: string;
}

export interface ComparedResult extends Result {
  readonly profile: string;
  /** Units in the last place from the exact result; null for infinities and NaN. */
  readonly difference: number | null;
  readonly equal: boolean;
}

export interface Absent {
  readonly profile: string;
  readonly absent: string;
}

export type Compared = ComparedResult | Absent;

export interface PackedResult extends Result {
  readonly sign: string;
  readonly exponent: string;
  readonly fraction: string;
}

export interface Operand {
  readonly name: string;
  /** Empty if it is the sum of a group of products. */
  readonly format: string;
  readonly kind: "zero" | "subnormal" | "normal" | "infinity" | "nan";
  readonly bits: string;
  readonly value: string;
  readonly exponent: number;
}

export interface Term {
  readonly label: string;
  readonly kind: "zero" | "finite" | "infinity" | "nan";
  readonly negative: boolean;
  readonly exponent: number;
  /** The significand's bits from its leading one; empty unless finite. */
  readonly bits: string;
  /** Binary place of the last of them. */
  readonly lowest: number;
  /** How many of them alignment cuts. */
  readonly cut: number;
  readonly value: string;
  /** Value of the cut bits; empty if they are zero. */
  readonly lost: string;
  readonly factors: readonly Operand[];
}

export interface Total {
  readonly negative: boolean;
  readonly bits: string;
  readonly lowest: number;
  readonly value: string;
  readonly units: string;
}

export interface Rounding {
  readonly mode: string;
  readonly negative: boolean;
  readonly leading: number | null;
  readonly lastPlace: number;
  readonly kept: string;
  readonly rounded: string;
  readonly dropped: string;
  readonly up: boolean;
  readonly subnormal: boolean;
  readonly overflow: boolean;
}

export interface SumStep {
  readonly kind: "sum";
  readonly terms: readonly Term[];
  readonly largest: number | null;
  readonly least: number | null;
  readonly unit: number;
  readonly total: Total;
  readonly special: "nan" | "infinity" | "-infinity" | null;
  readonly rounding: Rounding | null;
  readonly result: PackedResult;
}

export interface ConversionStep {
  readonly kind: "conversion";
  readonly source: Operand;
  readonly rounding: Rounding | null;
  readonly result: PackedResult;
}

export interface SaturationStep {
  readonly kind: "saturation";
  readonly before: string;
  readonly result: string;
}

export interface IntegerStep {
  readonly kind: "integers";
  readonly a: readonly number[];
  readonly b: readonly number[];
  readonly products: readonly number[];
  readonly c: number;
  readonly exact: string;
  readonly saturate: boolean;
  readonly result: number;
}

export interface BitStep {
  readonly kind: "bits";
  readonly operation: string;
  readonly a: string;
  readonly b: string;
  readonly combined: string;
  readonly count: number;
  readonly c: number;
  readonly result: number;
}

export type Step = SumStep | ConversionStep | SaturationStep | IntegerStep | BitStep;

/** Whether an answer explains a result. */
export function isExplained(answer: Answer): answer is Explained {
  return answer.errors.length === 0;
}

// Signals as a reader wants to see them.
import type { Signal, UnitDescription } from "../../src/hardware/unit";

export const NAMES: Readonly<Record<string, string>> = {
  "decode.significand_a": "significands of A",
  "decode.significand_b": "significands of B",
  "decode.product_exponent": "exponents of the products",
  "decode.sign": "signs of the products",
  "decode_c.c_sign": "sign of C",
  "maximum_exponent.maximum": "Emax",
  "multiply.product": "products, shifted left by 0 to 7 places",
  "align.term": "aligned terms",
  "align.carry": "ones missing from negated terms",
  "align.c_term": "aligned C",
  "reduce.sum": "sum of all terms",
  "normalize.negative": "sum has not the sign of C",
  "normalize.value": "normalised sum, one less than a negative magnitude",
  "normalize.exponent": "exponent field of the sum",
  "round.d": "result D",
};

const HEXADECIMAL = ["decode.sign", "align.carry", "normalize.value", "round.d"];

/** An element as a signed or unsigned number. */
export function numberOf(signal: Signal, value: bigint): bigint {
  return signal.signed ? BigInt.asIntN(signal.width, value) : value;
}

export function hexadecimal(value: bigint | number, width: number): string {
  return `0x${value.toString(16).padStart(Math.ceil(width / 4), "0")}`;
}

/** An element in the notation that suits its signal. */
export function elementText(signal: Signal, value: bigint, zero: number | undefined): string {
  const key = `${signal.stage}.${signal.field}`;
  if (HEXADECIMAL.includes(key)) return hexadecimal(value, signal.width);
  if (key.startsWith("decode.significand")) return String(Number(value) / 1024);
  const isExponent = key === "decode.product_exponent" || key.startsWith("maximum") || key.startsWith("product_maximum");
  if (isExponent && zero !== undefined) return value === 0n ? "zero" : `2^${(value - BigInt(zero)).toString()}`;
  return numberOf(signal, value).toString().replace("-", "\u2212");
}

/** What the travelling exponents count from, for the multiplicands of an operation; undefined for integers. */
export function exponentZero(description: UnitDescription, title: string): number | undefined {
  if (/\.(bf16|tf32)\./.test(title)) return description.exponent_zero.wide;
  return /\.(s8|u8|s4|u4|b1)\./.test(title) ? undefined : description.exponent_zero.narrow;
}

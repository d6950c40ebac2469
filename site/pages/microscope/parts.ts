// What several steps show: facts, roundings, packed results.
import { counted, html, powerOfTwo, signed } from "../../src/components/dom";
import { roundingName } from "./names";
import type { PackedResult, Rounding } from "../../src/golden/explanation";

/** A list of names and texts. */
export function facts(entries: readonly (readonly [string, string | Node])[]): HTMLElement {
  const items = entries.flatMap(([name, text]) => [html("dt", {}, name), html("dd", {}, text)]);
  return html("dl", { class: "facts" }, ...items);
}

/** Rounding in words. */
export function roundingFacts(rounding: Rounding | null): [string, string][] {
  if (rounding === null) return [];
  if (rounding.leading === null) return [["normalisation", "none: the sum is zero"]];
  const reach = rounding.subnormal ? ", below the smallest normal number, so the last place stays" : "";
  const place = `the leading one stands at ${powerOfTwo(rounding.leading)}${reach}; last place ${powerOfTwo(rounding.lastPlace)}`;
  const mode = roundingName(rounding.mode);
  const dropped = counted(rounding.dropped.length, "bit");
  const how = rounding.dropped
    ? `${dropped} below the last place, ${shortened(rounding.dropped)}: ${rounding.up ? "one is added in the last place" : "dropped"}`
    : "exact, no bit lies below the last place";
  const beyond = rounding.overflow ? "; beyond the largest finite number" : "";
  return [
    ["normalisation", place],
    ["rounding", `${mode}: ${how}${beyond}`],
  ];
}

function shortened(bits: string): string {
  if (!bits.includes("1")) return "all zero";
  return bits.length > 40 ? `${bits.slice(0, 40)}...` : bits;
}

/** A bit pattern in its three fields. */
export function packed(result: PackedResult): HTMLElement {
  const field = (name: string, text: string): HTMLElement =>
    html("span", { class: name, title: name }, html("span", { class: "visually-hidden" }, `${name} `), text);
  return html(
    "span",
    { class: "packed" },
    field("sign", result.sign),
    field("exponent", result.exponent),
    field("fraction", result.fraction),
    html("span", { class: "code" }, `= ${result.format} ${result.bits} = ${signed(result.value)}`),
  );
}


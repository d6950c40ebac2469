// Integer sums and sums of single bits.
import { html, signed } from "../../src/components/dom";
import type { BitStep, IntegerStep } from "../../src/golden/explanation";
import { facts } from "./parts";

/** Products, their sum, and how it fits into s32. */
export function integerStep(step: IntegerStep): HTMLElement[] {
  const shown = step.products
    .map((product, k) => ({ k, product, a: step.a[k] ?? 0, b: step.b[k] ?? 0 }))
    .filter(({ product }) => product !== 0);
  const rows = shown.map(({ k, a, b, product }) =>
    html(
      "tr",
      {},
      html("th", { scope: "row" }, `a[${k}] \u00d7 b[${k}]`),
      html("td", {}, `${signed(a)} \u00d7 ${signed(b)}`),
      html("td", {}, signed(product)),
    ),
  );
  const head = ["term", "factors", "product"].map((text) => html("th", { scope: "col" }, text));
  const table = html("table", { class: "data" }, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows));
  const isChanged = step.exact !== String(step.result);
  const rule = isChanged ? (step.saturate ? "clamped to s32" : "wrapped modulo 2\u00b3\u00b2") : "fits s32";
  const zeros = step.products.length - shown.length;
  const list = facts([
    ...(zeros > 0 ? [["zero products", String(zeros)] as const] : []),
    ["C", signed(step.c)],
    ["exact sum", signed(step.exact)],
    ["result", `${signed(step.result)}, ${rule}`],
  ]);
  const label = "Products";
  return rows.length > 0
    ? [html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table), list]
    : [list];
}

/** Bits, their combination, and how many are set. */
export function bitsStep(step: BitStep): HTMLElement[] {
  const line = (bits: string): HTMLElement => html("span", { class: "bit-line" }, bits);
  return [
    facts([
      ["A", line(step.a)],
      ["B", line(step.b)],
      [`A ${step.operation} B`, line(step.combined)],
      ["ones", String(step.count)],
      ["C", signed(step.c)],
      ["result", `${signed(step.c)} + ${step.count} = ${signed(step.result)}, modulo 2\u00b3\u00b2`],
    ]),
  ];
}

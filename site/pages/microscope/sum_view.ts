// One fused sum on its ruler of binary places.
import { counted, powerOfTwo, signed } from "../../src/components/dom";
import { type RulerMark, type RulerRow, rulerTable } from "../../src/components/ruler";
import type { Rounding, SumStep, Term, Total } from "../../src/golden/explanation";
import { facts, packed, roundingFacts } from "./parts";

/** The ruler and what it says in words. */
export function sumStep(step: SumStep, place: string): HTMLElement[] {
  const finite = step.terms.filter(({ kind }) => kind === "finite");
  const parts: HTMLElement[] = [];
  if (finite.length > 0) {
    const rows = finite.map((term) => termRow(term, step));
    if (step.special === null) rows.push(totalRow(step.total, step.rounding), ...resultRow(step));
    const caption = `${place}Terms, sum and result by binary places`;
    parts.push(rulerTable({ caption, rows, marks: marks(step) }));
  }
  parts.push(facts([...termFacts(step), ...sumFacts(step), ...roundingFacts(step.rounding), ["result", packed(step.result)]]));
  return parts;
}

function marks(step: SumStep): RulerMark[] {
  if (step.largest === null) return [];
  return [
    { place: step.largest, text: "Emax" },
    { place: step.unit, text: "unit" },
  ];
}

function termRow(term: Term, step: SumStep): RulerRow {
  const kept = term.bits.length - term.cut;
  const lost = term.lost ? `, losing ${term.lost}` : "";
  return {
    label: term.label.replaceAll("*", "\u00d7"),
    origin: term.factors.length > 1 ? term.factors.map(({ value }) => value).join(" \u00d7 ") : "",
    value: term.value,
    negative: term.negative,
    bits: term.bits,
    lowest: term.lowest,
    fate: (place) => (place < step.unit && term.cut > 0 ? "cut" : "kept"),
    note: term.lost ? `loses ${term.lost}` : "",
    spoken: `${term.value}: ${counted(kept, "bit")} kept, ${counted(term.cut, "bit")} cut${lost}`,
    boundary: step.largest === null ? undefined : step.unit,
    isResult: false,
  };
}

function totalRow(total: Total, rounding: Rounding | null): RulerRow {
  const lastPlace = rounding?.dropped ? rounding.lastPlace : undefined;
  return {
    label: "sum",
    origin: "of what was kept",
    value: total.value,
    negative: total.negative,
    bits: total.bits,
    lowest: total.lowest,
    fate: (place) => (lastPlace !== undefined && place < lastPlace ? "dropped" : "sum"),
    note: total.bits ? "" : "zero",
    spoken: `${total.value}, the exact sum of what was kept`,
    boundary: lastPlace,
    isResult: true,
  };
}

function resultRow(step: SumStep): RulerRow[] {
  const { rounding, result } = step;
  if (rounding === null) return [];
  if (rounding.leading === null) return [];
  const note = rounding.overflow
    ? "too large: infinity or the largest finite number"
    : rounding.up
      ? "one added in the last place"
      : rounding.dropped
        ? "rounded"
        : "exact";
  return [
    {
      label: "result",
      origin: result.format,
      value: result.value,
      negative: rounding.negative,
      bits: rounding.rounded === "0" ? "" : rounding.rounded,
      lowest: rounding.lastPlace,
      fate: () => "rounded",
      note,
      spoken: `${result.value}, ${note}`,
      boundary: rounding.dropped ? rounding.lastPlace : undefined,
      isResult: false,
    },
  ];
}

function termFacts(step: SumStep): [string, string][] {
  const zeros = step.terms.filter(({ kind }) => kind === "zero").map(({ label }) => label.replaceAll("*", "\u00d7"));
  const found: [string, string][] = [];
  if (zeros.length > 0) found.push(["zero", listed(zeros)]);
  for (const term of step.terms) {
    if (term.kind !== "infinity" && term.kind !== "nan") continue;
    const factors = term.factors.map(({ value }) => value).join(" \u00d7 ");
    const what = term.kind === "nan" ? "NaN" : term.negative ? "\u2212infinity" : "infinity";
    found.push([term.label.replaceAll("*", "\u00d7"), factors === what ? what : `${factors} is ${what}`]);
  }
  return found;
}

function listed(names: readonly string[]): string {
  const [first = "", last = ""] = [names[0], names.at(-1)];
  return names.length < 4 ? names.join(", ") : `${first}, ..., ${last} (${counted(names.length, "term")})`;
}

function sumFacts(step: SumStep): [string, string][] {
  const found: [string, string][] = [];
  if (step.special !== null) {
    const names = { nan: "NaN", infinity: "infinity", "-infinity": "\u2212infinity" };
    found.push(["sum", `${names[step.special]}: a term is not finite`]);
    return found;
  }
  if (step.largest === null) {
    found.push(["unit", "none: no bit is cut before the sum"]);
  } else {
    const limit = step.least === null ? "" : `; it is never below ${signed(step.least)}`;
    found.push(
      ["Emax", `${signed(step.largest)}, the largest exponent of a term${limit}`],
      ["unit", `${powerOfTwo(step.unit)}, ${step.largest - step.unit} places below Emax; lower bits of each term are cut`],
    );
  }
  const { units } = step.total;
  const noun = /^-?1$/.test(units) ? "unit" : "units";
  const size = units.length > 24 ? `${units.length} digits long, in` : signed(units);
  found.push(["sum", `${size} ${noun} of ${powerOfTwo(step.unit)}`]);
  return found;
}

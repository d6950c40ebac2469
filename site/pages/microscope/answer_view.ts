// Draws an answer: the result beside the exact one, every step, and the other generations.
import { counted, html, signed } from "../../src/components/dom";
import { rulerLegend } from "../../src/components/ruler";
import type {
  Compared,
  ComparedResult,
  ConversionStep,
  Explained,
  SaturationStep,
  Step,
} from "../../src/golden/explanation";
import { bitsStep, integerStep } from "./integer_view";
import { profileName } from "./names";
import { facts, packed, roundingFacts } from "./parts";
import { sumStep } from "./sum_view";

const LARGE = 9999;

/** Everything under the form. */
export function answerView(answer: Explained): HTMLElement[] {
  const parts = [summary(answer)];
  if (answer.notes.length > 0) {
    parts.push(html("ul", { class: "notes" }, ...answer.notes.map((note) => html("li", {}, note))));
  }
  const hasRuler = answer.steps.some(({ kind }) => kind === "sum");
  const steps = html("section", { class: "panel", "aria-labelledby": "steps-title" });
  steps.append(html("h2", { id: "steps-title" }, "Step by step"));
  if (hasRuler) steps.append(rulerLegend());
  steps.append(...answer.steps.map((step, index) => stepView(step, index, answer.steps.length)));
  parts.push(steps, comparison(answer));
  return parts;
}

/** A number of units in the last place in words. */
export function differenceText(difference: number | null): string {
  if (difference === null) return "not a number to compare";
  if (difference === 0) return "none";
  const size = Math.abs(difference);
  const text = size > LARGE ? `more than ${String(LARGE)} units` : counted(size, "unit");
  return `${text} in the last place too ${difference < 0 ? "low" : "high"}`;
}

function isPresent(row: Compared): row is ComparedResult {
  return !("absent" in row);
}

function card(title: string, number: string, detail: string, mark: "" | "same" | "differs"): HTMLElement {
  return html(
    "div",
    { class: `card ${mark}` },
    html("p", { class: "title" }, title),
    html("div", { class: "number" }, signed(number)),
    html("div", { class: "hint" }, detail),
  );
}

function summary(answer: Explained): HTMLElement {
  const rows = answer.comparison.filter(isPresent);
  const exact = rows.find(({ profile }) => profile === "exact");
  const ours = rows.find(({ profile }) => profile === answer.profile) ?? rows[0];
  const { format, bits, value } = answer.result;
  const isEqual = ours?.equal === true;
  const cards = [card(`Result, ${profileName(answer.profile)}`, value, `${format} ${bits}`, isEqual ? "same" : "differs")];
  if (exact !== undefined) {
    const rounded = exact.bits ? `rounded once: ${signed(exact.value)} (${exact.bits})` : `before it is made ${format}`;
    cards.push(card("Exact sum", answer.exactSum || "not a finite number", rounded, ""));
  }
  if (ours !== undefined) {
    const isFloat = exact?.bits !== "";
    const text = isFloat ? differenceText(ours.difference) : String(ours.difference);
    const detail = isEqual ? "the same bits as the exact sum rounded once" : "from the exact sum rounded once";
    cards.push(card("Difference", isEqual ? "none" : text, isFloat ? detail : "from the exact sum", ""));
  }
  return html("div", { class: "summary", id: "summary" }, ...cards);
}

function stepView(step: Step, index: number, count: number): HTMLElement {
  const place = count > 1 ? `Step ${index + 1} of ${count}: ` : "";
  const isOpen = count <= 3 || index === 0 || index === count - 1;
  return html(
    "details",
    { class: "step", open: isOpen },
    html("summary", {}, place + stepTitle(step)),
    ...stepBody(step, place),
  );
}

function stepTitle(step: Step): string {
  switch (step.kind) {
    case "sum": {
      const products = step.terms.filter(({ factors }) => factors.length > 1);
      const noun = products[0]?.factors[0]?.format === "" ? "group sum" : "product";
      return products.length > 0 ? `${counted(products.length, noun)} and ${addend(step.terms.at(-1)?.label)}` : "addition of C";
    }
    case "conversion":
      return `${step.source.name} from ${step.source.format} to ${step.result.format}`;
    case "saturation":
      return "saturation";
    case "integers":
      return `${counted(step.products.length, "integer product")} and C`;
    case "bits":
      return `${counted(step.a.length, "single bit")} and C`;
  }
}

function addend(label: string | undefined): string {
  return label === "c" || label === undefined ? "C" : label === "zero" ? "no C yet" : `the ${label} so far`;
}

function stepBody(step: Step, place: string): HTMLElement[] {
  switch (step.kind) {
    case "sum":
      return sumStep(step, place);
    case "conversion":
      return [conversion(step)];
    case "saturation":
      return [saturation(step)];
    case "integers":
      return integerStep(step);
    case "bits":
      return bitsStep(step);
  }
}

function conversion(step: ConversionStep): HTMLElement {
  const { source, rounding, result } = step;
  return facts([
    ["operand", `${source.format} ${source.bits} = ${source.value}`],
    ...roundingFacts(rounding),
    ["result", packed(result)],
  ]);
}

function saturation(step: SaturationStep): HTMLElement {
  return facts([
    ["rule", "an infinity becomes the largest finite number, NaN becomes 0"],
    ["result", `${step.before} to ${step.result}`],
  ]);
}

function comparison(answer: Explained): HTMLElement {
  const head = html(
    "tr",
    {},
    ...["arithmetic", "bits", "value", "from the exact result"].map((text) => html("th", { scope: "col" }, text)),
  );
  const rows = answer.comparison.map((row) => comparedRow(row, answer.profile));
  const table = html("table", { class: "data" }, html("thead", {}, head), html("tbody", {}, ...rows));
  const title = "The same values under other arithmetic";
  return html(
    "section",
    { class: "panel", id: "comparison" },
    html("h2", {}, title),
    html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, table),
  );
}

function comparedRow(row: Compared, current: string): HTMLTableRowElement {
  const isInteger = isPresent(row) && !row.bits;
  const name = html("th", { scope: "row" }, isInteger ? "exact sum" : profileName(row.profile));
  if (!isPresent(row)) return html("tr", {}, name, html("td", { colspan: 3, class: "hint" }, row.absent));
  const isWrapped = !row.equal && row.profile === "every generation";
  const text = row.equal ? "equal" : isWrapped ? "wrapped or saturated" : differenceText(row.difference);
  return html(
    "tr",
    { "data-profile": row.profile, class: row.profile === current ? "current" : undefined },
    name,
    html("td", { class: "mono" }, row.bits),
    html("td", {}, signed(row.value)),
    html("td", {}, html("span", { class: `badge ${row.equal ? "same" : "differs"}` }, text)),
  );
}

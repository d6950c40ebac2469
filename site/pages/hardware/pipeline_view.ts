// The stages from top to bottom; each has a slot for every cycle that an operation spends in it.
import { html } from "../../src/components/dom";
import type { Signal, Unit } from "../../src/hardware/unit";
import type { Flight } from "./flight";
import { elementText, exponentZero, NAMES } from "./numbers";

interface Row {
  readonly stage: string;
  readonly title: string;
  readonly text: string;
  readonly shown: string;
}

const ROWS: readonly Row[] = [
  { stage: "decode", title: "Decode", text: "signs, exponents, significands", shown: "sign" },
  { stage: "product_maximum", title: "Largest product", text: "two trees of comparisons", shown: "product_maximum" },
  { stage: "maximum_exponent", title: "Maximum exponent", text: "Emax: of even products, odd ones and C", shown: "maximum" },
  { stage: "distance", title: "Distance", text: "how far below Emax", shown: "c_distance" },
  { stage: "multiply", title: "Multiply", text: "16 products", shown: "product" },
  { stage: "align", title: "Align", text: "cut below the last bit", shown: "c_term" },
  { stage: "reduce", title: "Reduce", text: "a tree of adders", shown: "sum" },
  { stage: "normalize", title: "Normalize", text: "leading one to the front", shown: "value" },
  { stage: "round", title: "Round", text: "to the format of D", shown: "d" },
];

const LABELS: Readonly<Record<string, string>> = {
  ...NAMES,
  "product_maximum.product_maximum": "largest exponent of an even product",
  "distance.c_distance": "distance of C from Emax",
  "multiply.product": "product of lane 0",
};

/** Every stage with who is in it, and the buffer behind them. */
export function pipelineView(unit: Unit, flights: readonly Flight[], cycle: number, followed: Flight | undefined): HTMLElement[] {
  const { description } = unit;
  const rows = ROWS.flatMap((row) => {
    const stage = description.stages.find(({ name }) => name === row.stage);
    const signal = description.signals.find(({ stage: name, field }) => name === row.stage && field === row.shown);
    if (stage === undefined || signal === undefined) return [];
    const places = slots(stage.start, stage.latency, flights, cycle, followed);
    return [stageView(row.title, row.text, places, outputText(unit, signal, flights, cycle))];
  });
  const end = description.stages.reduce((latest, { start, latency }) => Math.max(latest, start + latency), 0);
  const places = slots(end, description.latency - end, flights, cycle, followed);
  return [...rows, stageView("Result buffer", "until the receiver takes it", places, "")];
}

function stageView(title: string, text: string, places: readonly HTMLElement[], output: string): HTMLElement {
  return html(
    "div",
    { class: "stage" },
    html("div", { class: "stage-name" }, html("strong", {}, title), html("span", { class: "hint" }, ` ${text}`)),
    html("ol", { class: "slots", "aria-label": `${title}: cycles` }, ...places),
    html("div", { class: "output mono" }, output),
  );
}

function slots(start: number, count: number, flights: readonly Flight[], cycle: number, followed: Flight | undefined): HTMLElement[] {
  return Array.from({ length: count }, (_, index) => {
    const here = flights.find((flight) => flight.age(cycle) === start + index + 1);
    if (here === undefined) return html("li", { class: "slot" }, html("span", { class: "visually-hidden" }, "empty"));
    const mark = here === followed ? " followed" : "";
    return html("li", { class: `slot taken hue-${here.number % 8}${mark}` }, String(here.number));
  });
}

/** What the stage's last register holds, if an operation has just reached it. */
function outputText(unit: Unit, signal: Signal, flights: readonly Flight[], cycle: number): string {
  const here = flights.find((flight) => flight.age(cycle) === signal.cycle);
  if (here === undefined) return "";
  const [first = 0n] = unit.value(signal);
  const zero = exponentZero(unit.description, here.entry.title);
  const label = LABELS[`${signal.stage}.${signal.field}`] ?? signal.field;
  return `${here.number}: ${label} = ${elementText(signal, first, zero)}`;
}

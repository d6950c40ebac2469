// The followed operation: each signal beside golden's value, and the lanes in a table.
import { counted, html } from "../../src/components/dom";
import type { UnitDescription } from "../../src/hardware/unit";
import type { Comparison, Flight } from "./flight";
import { elementText, exponentZero, hexadecimal, NAMES, numberOf } from "./numbers";

/** What the comparison says so far, in one sentence. */
export function verdict(flight: Flight, comparisons: readonly Comparison[]): { text: string; bad: boolean } {
  const seen = comparisons.filter(({ found }) => found !== undefined);
  const wrong = seen.filter(({ differences }) => differences.length > 0);
  const name = `Operation ${flight.number}`;
  if (wrong.length > 0) {
    const [first] = wrong;
    const [difference] = first?.differences ?? [];
    if (first === undefined || difference === undefined) throw new Error("A difference without elements");
    const lane = first.signal.count > 1 ? ` in lane ${difference.element}` : "";
    const values = `${difference.found.toString()} in hardware and ${difference.expected.toString()} in golden.explain`;
    return { bad: true, text: `${name} differs: ${NAMES[first.key] ?? first.key}${lane} is ${values}.` };
  }
  const special = flight.entry.operation.special ? " An infinity or NaN decides this result, so only the result is compared." : "";
  if (seen.length === 0) return { bad: false, text: `${name} has not reached the first output yet.${special}` };
  const rest = comparisons.length - seen.length;
  const left = rest > 0 ? `; ${counted(rest, "signal")} to come` : "; that is all of them";
  return { bad: false, text: `${name}: ${counted(seen.length, "signal")} compared with golden.explain, all bits equal${left}.${special}` };
}

/** The table of signals and the table of lanes. */
export function signalsView(description: UnitDescription, flight: Flight, comparisons: readonly Comparison[]): HTMLElement[] {
  const zero = exponentZero(description, flight.entry.title);
  const parts = [region("Signals that both views have", signalTable(comparisons, zero))];
  const lanes = laneTable(description, flight, zero);
  if (lanes !== undefined) {
    parts.push(html("h3", {}, "Lane by lane"), region("Lanes of the followed operation", lanes.table));
    if (lanes.zeros > 0) parts.push(html("p", { class: "hint" }, `The other ${counted(lanes.zeros, "lane")} multiply zeros.`));
  }
  return parts;
}

function region(label: string, table: HTMLElement): HTMLElement {
  return html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
}

function table(names: readonly string[], rows: readonly HTMLElement[]): HTMLElement {
  const head = html("tr", {}, ...names.map((name) => html("th", { scope: "col", class: `${name.replaceAll(" ", "-")}-column` }, name)));
  return html("table", { class: "data" }, html("thead", {}, head), html("tbody", {}, ...rows));
}

function signalTable(comparisons: readonly Comparison[], zero: number | undefined): HTMLElement {
  const rows = comparisons.map((comparison) => signalRow(comparison, zero));
  return table(["cycle", "stage", "signal", "hardware", "golden.explain", "verdict"], rows);
}

function signalRow({ signal, key, found, expected, differences }: Comparison, zero: number | undefined): HTMLElement {
  const text = (values: readonly bigint[] | undefined): string => {
    if (values === undefined) return "\u2026";
    const [first] = values;
    if (values.length > 1 || first === undefined) return counted(values.length, "lane");
    return elementText(signal, first, zero);
  };
  const badge =
    found === undefined
      ? html("span", { class: "hint" }, "to come")
      : html("span", { class: `badge ${differences.length > 0 ? "differs" : "same"}` }, differences.length > 0 ? "differs" : "equal");
  return html(
    "tr",
    { class: found === undefined ? "waiting" : "seen" },
    html("td", {}, String(signal.cycle)),
    html("td", { class: "stage-column" }, signal.stage.replaceAll("_", " ")),
    html("th", { scope: "row" }, NAMES[key] ?? key),
    html("td", { class: "mono" }, text(found)),
    html("td", { class: "mono" }, found === undefined ? "\u2026" : text(expected)),
    html("td", {}, badge),
  );
}

interface Lanes {
  readonly table: HTMLElement;
  /** Lanes that are left out. */
  readonly zeros: number;
}

function laneTable(description: UnitDescription, flight: Flight, zero: number | undefined): Lanes | undefined {
  const signal = (key: string) => description.signals.find(({ stage, field }) => `${stage}.${field}` === key);
  const product = signal("multiply.product");
  const term = signal("align.term");
  const exponent = signal("decode.product_exponent");
  const a = signal("decode.significand_a");
  const b = signal("decode.significand_b");
  const carries = flight.seen.get("align.carry")?.[0];
  if (product === undefined || term === undefined || exponent === undefined || a === undefined || b === undefined) return undefined;
  const cell = (text: string | undefined): HTMLElement => html("td", { class: "mono" }, text ?? "\u2026");
  const value = (key: string, lane: number): bigint | undefined => flight.seen.get(key)?.[lane];
  const isZero = (lane: number): boolean => zero !== undefined && value("decode.product_exponent", lane) === 0n;
  const all = Array.from({ length: product.count }, (_, lane) => lane);
  const shown = all.filter((lane) => !isZero(lane));
  const rows = shown.map((lane) => {
    const [left, right] = [value("decode.significand_a", lane), value("decode.significand_b", lane)];
    const power = value("decode.product_exponent", lane);
    const made = value("multiply.product", lane);
    const aligned = value("align.term", lane);
    // A negated term lacks one, which the adders add.
    const whole =
      aligned === undefined || carries === undefined ? undefined : numberOf(term, aligned) + ((carries >> BigInt(lane)) & 1n);
    const cells = [
      cell(made === undefined ? undefined : elementText(product, made, zero)),
      cell(whole?.toString().replace("-", "\u2212")),
    ];
    if (zero === undefined) return html("tr", {}, html("th", { scope: "row" }, String(lane)), ...cells);
    const factors = left === undefined || right === undefined ? undefined : `${elementText(a, left, zero)} \u00d7 ${elementText(b, right, zero)}`;
    return html(
      "tr",
      {},
      html("th", { scope: "row" }, String(lane)),
      cell(factors),
      cell(power === undefined ? undefined : elementText(exponent, power, zero)),
      ...cells,
    );
  });
  const names = zero === undefined ? ["lane", "product", "term"] : ["lane", "significands", "exponent", "product, shifted", "aligned term against C"];
  return { table: table(names, rows), zeros: all.length - shown.length };
}

/** The result of an operation that has left, in its format. */
export function resultText(flight: Flight): string {
  if (flight.result === undefined) return "";
  const width = flight.entry.format === "f16" ? 16 : 32;
  return `${flight.entry.format} ${hexadecimal(flight.result, width)}`;
}

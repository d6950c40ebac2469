// Numbers above each other on one ruler of binary places: every column is one place.
import { html, signed } from "./dom";

/** What happened to a bit. */
export type Fate = "kept" | "cut" | "sum" | "dropped" | "rounded";

export interface RulerRow {
  readonly label: string;
  /** A second line under the label. */
  readonly origin: string;
  readonly value: string;
  readonly negative: boolean;
  /** From the leading one on; empty for zero. */
  readonly bits: string;
  /** Binary place of the last bit. */
  readonly lowest: number;
  readonly fate: (place: number) => Fate;
  readonly note: string;
  /** The row in words, for screen readers. */
  readonly spoken: string;
  /** A line below this place: lower places lie outside. */
  readonly boundary: number | undefined;
  readonly isResult: boolean;
}

export interface RulerMark {
  readonly place: number;
  readonly text: string;
}

export interface Ruler {
  readonly caption: string;
  readonly rows: readonly RulerRow[];
  readonly marks: readonly RulerMark[];
}

interface Place {
  readonly kind: "place";
  readonly place: number;
}

interface Gap {
  readonly kind: "gap";
  readonly count: number;
}

type Column = Place | Gap;

const LONGEST_GAP = 6;
const TICK = 4;

/** Places without any bit or mark, more than a few in a row, become one gap. */
function columnsOf(ruler: Ruler): Column[] {
  const used = new Set<number>(ruler.marks.map(({ place }) => place));
  for (const { bits, lowest, boundary } of ruler.rows) {
    for (let index = 0; index < bits.length; index++) used.add(lowest + index);
    if (boundary !== undefined) used.add(boundary);
  }
  const sorted = [...used].sort((x, y) => y - x);
  const columns: Column[] = [];
  let previous: number | undefined;
  for (const place of sorted) {
    const missing = previous === undefined ? 0 : previous - place - 1;
    if (missing > LONGEST_GAP) columns.push({ kind: "gap", count: missing });
    else for (let step = missing; step > 0; step--) columns.push({ kind: "place", place: place + step });
    columns.push({ kind: "place", place });
    previous = place;
  }
  return columns;
}

function power(place: number): HTMLElement {
  return html("span", { class: "tick" }, "2", html("sup", {}, String(place).replace("-", "\u2212")));
}

function axis(columns: readonly Column[]): HTMLElement {
  const cells = columns.map((column) => {
    if (column.kind === "gap") return html("span", { class: "gap" }, "\u22ef");
    const isTick = column.place % TICK === 0;
    return html("span", { class: "bit" }, ...(isTick ? [power(column.place)] : []));
  });
  return html("div", { class: "bits axis" }, ...cells);
}

function markRow(columns: readonly Column[], marks: readonly RulerMark[]): HTMLElement {
  const cells = columns.map((column) => {
    if (column.kind === "gap") return html("span", { class: "gap" });
    const here = marks.filter(({ place }) => place === column.place);
    if (here.length === 0) return html("span", { class: "bit" });
    const text = here.map((mark) => mark.text).join(", ");
    return html("span", { class: "bit marked" }, html("span", { class: "mark" }, text));
  });
  return html("div", { class: "bits marks" }, ...cells);
}

function bitCells(columns: readonly Column[], row: RulerRow): HTMLElement {
  const top = row.lowest + row.bits.length - 1;
  const cells = columns.map((column) => {
    if (column.kind === "gap") return html("span", { class: "gap" }, "\u22ef");
    const { place } = column;
    const edge = row.boundary === place ? " boundary" : "";
    const digit = row.bits[top - place];
    if (digit === undefined || place < row.lowest) return html("span", { class: `bit${edge}` });
    return html("span", { class: `bit ${row.fate(place)}${edge}` }, digit);
  });
  return html("div", { class: "bits", "aria-hidden": "true" }, ...cells);
}

function tableRow(columns: readonly Column[], row: RulerRow): HTMLTableRowElement {
  const label = html("th", { scope: "row" }, html("span", { class: "term" }, row.label));
  label.append(html("span", { class: "narrow-value", "aria-hidden": "true" }, signed(row.value)));
  if (row.origin) label.append(html("span", { class: "origin" }, row.origin));
  const sign = row.bits ? (row.negative ? "\u2212" : "+") : "";
  return html(
    "tr",
    row.isResult ? { class: "result" } : {},
    label,
    html("td", { class: "value" }, signed(row.value)),
    html("td", { class: "sign", "aria-hidden": "true" }, sign),
    html("td", {}, bitCells(columns, row), html("span", { class: "visually-hidden" }, row.spoken)),
    html("td", { class: "note" }, row.note),
  );
}

/** Draws a ruler as a table that scrolls in itself. */
export function rulerTable(ruler: Ruler): HTMLElement {
  const columns = columnsOf(ruler);
  const head = html(
    "thead",
    {},
    html(
      "tr",
      {},
      html("th", { scope: "col" }, "term"),
      html("th", { scope: "col", class: "value" }, "value"),
      html("th", { class: "sign", scope: "col" }, html("span", { class: "visually-hidden" }, "sign")),
      html(
        "th",
        { scope: "col" },
        html("span", { class: "visually-hidden" }, "bits"),
        html("div", { "aria-hidden": "true" }, markRow(columns, ruler.marks), axis(columns)),
      ),
      html("th", { scope: "col" }, html("span", { class: "visually-hidden" }, "note")),
    ),
  );
  const body = html("tbody", {}, ...ruler.rows.map((row) => tableRow(columns, row)));
  const caption = html("caption", { class: "visually-hidden" }, ruler.caption);
  const table = html("table", { class: "ruler" }, caption, head, body);
  return html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": ruler.caption }, table);
}

/** What the colours mean. */
export function rulerLegend(): HTMLElement {
  const entries: readonly (readonly [Fate, string])[] = [
    ["kept", "kept by alignment"],
    ["cut", "cut by alignment"],
    ["sum", "exact sum of what was kept"],
    ["dropped", "dropped by rounding"],
    ["rounded", "result"],
  ];
  const items = entries.map(([fate, text]) =>
    html("li", {}, html("span", { class: `bit ${fate}`, "aria-hidden": "true" }, "1"), ` ${text}`),
  );
  return html("ul", { class: "legend" }, ...items);
}

// One row for each command, one colour for each thing it does; the cursor stands at a cycle.
import { html, svg } from "../../src/components/dom";
import type { Command } from "../../src/core/program";
import type { Life } from "../../src/core/timeline";
import { label } from "./words";

const ROW = 22;
const AXIS = 20;
const NARROW = 600;

const KINDS: readonly (readonly [string, string])[] = [
  ["queue", "in the queue"],
  ["decode", "decoded"],
  ["wait-registers", "waits for registers"],
  ["wait-memory", "waits for bytes of memory"],
  ["wait-unit", "waits for its unit"],
  ["load", "loads"],
  ["tile", "multiplies"],
  ["store", "stores"],
  ["move", "fills or moves registers"],
];

export function legend(): HTMLElement[] {
  return KINDS.map(([kind, text]) => html("li", {}, html("span", { class: `key ${kind}` }), text));
}

interface Segment {
  readonly kind: string;
  readonly from: number;
  readonly to: number;
}

export function segmentsOf(life: Life, end: number): Segment[] {
  const { arrived, taken, started, done, unit } = life;
  if (arrived === undefined) return [];
  const found: Segment[] = [{ kind: "queue", from: arrived, to: taken ?? end }];
  if (taken !== undefined) {
    found.push({ kind: "decode", from: taken, to: started ?? end });
    found.push(...life.waits.map(({ kind, from, to }) => ({ kind: `wait-${kind}`, from, to })));
  }
  if (started !== undefined) found.push({ kind: unit ?? "move", from: started, to: (done ?? end - 1) + 1 });
  return found;
}

/** The names and a picture that is `width` pixels wide. */
export function timelineView(
  lives: readonly Life[],
  commands: readonly Command[],
  cycles: number,
  width: number,
  choose: (index: number) => void,
): { element: HTMLElement; move: (cycle: number) => void } {
  const height = AXIS + ROW * lives.length;
  const scale = width / Math.max(cycles, 1);
  const rows = lives.flatMap((life, index) =>
    segmentsOf(life, cycles).map(({ kind, from, to }) => {
      const tall = kind === "queue" ? 6 : kind === "decode" ? 10 : 16;
      return svg("rect", {
        class: kind,
        x: (from * scale).toFixed(1),
        width: Math.max((to - from) * scale, 1).toFixed(1),
        y: AXIS + ROW * index + (ROW - tall) / 2,
        height: tall,
      });
    }),
  );
  const step = axisStep(cycles, width);
  const ticks = Array.from({ length: Math.floor(cycles / step) + 1 }, (_, index) =>
    svg("text", { x: (index * step * scale).toFixed(1), y: 13 }, String(index * step)),
  );
  const line = svg("line", { class: "now", y1: 0, y2: height, x1: 0, x2: 0 });
  const picture = svg("svg", { width, height, class: "picture", "aria-hidden": "true" }, ...ticks, ...rows, line);
  const names = lives.map((life, index) => {
    const command = commands[index];
    const name = command === undefined ? String(index + 1) : label(command, index);
    const button = html("button", { type: "button", class: "row-name", "data-index": index }, name);
    button.addEventListener("click", () => {
      choose(life.index);
    });
    return button;
  });
  const element = html("div", { class: "timeline" }, html("div", { class: "names" }, ...names), picture);
  return {
    element,
    move: (cycle) => {
      const x = (cycle * scale).toFixed(1);
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    },
  };
}

/** Width of the names, which the picture leaves free; `style.css` has the same. */
export function namesWidth(): number {
  return innerWidth < NARROW ? 96 : 190;
}

function axisStep(cycles: number, width: number): number {
  const least = (80 * cycles) / width;
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}

// The three pictures of one fragment.
import type { PaneModel } from "./pane";
import type { Placement } from "./placement";

interface CellSize {
  readonly width: number;
  readonly height: number;
  readonly hasText: boolean;
}

const LANES = 32;

function cellSize(bits: number): CellSize {
  if (bits >= 8) return { width: 30, height: 18, hasText: true };
  return { width: bits === 4 ? 11 : 5, height: bits === 4 ? 16 : 14, hasText: false };
}

function every(count: number, index: number, step: number): string {
  return index % step === 0 && index < count ? String(index) : "";
}

export function matrixModel(placement: Placement): PaneModel {
  const { fragment } = placement;
  const size = cellSize(fragment.bits);
  const step = size.hasText ? 1 : fragment.bits === 4 ? 4 : 16;
  return {
    title: `Matrix ${fragment.use.toUpperCase()}, ${fragment.rows} rows and ${fragment.columns} columns`,
    description: "Each cell is an element. Its colour is its lane, and so is the number in it.",
    lines: fragment.rows,
    columns: fragment.columns,
    cellWidth: size.hasText ? 24 : size.width,
    cellHeight: size.height,
    columnGroup: 8,
    lineGroup: 8,
    labelWidth: 24,
    element: (line, column) => placement.element(line, column),
    lane: (element) => placement.lane(element),
    text: (element) => (size.hasText ? String(placement.lane(element)) : ""),
    lineLabel: String,
    columnLabel: (column) => every(fragment.columns, column, step),
  };
}

export function warpModel(placement: Placement): PaneModel {
  const { bits } = placement.fragment;
  const size = cellSize(bits);
  const perRegister = Math.max(1, 32 / bits);
  const registersOfElement = Math.max(1, bits / 32);
  return {
    title: "Warp of 32 lanes with their registers",
    description: "Each line is a lane. Its cells are the elements in its registers, the low bits first.",
    lines: LANES,
    columns: placement.slots,
    cellWidth: size.width,
    cellHeight: size.height,
    columnGroup: perRegister,
    lineGroup: 4,
    labelWidth: 24,
    element: (line, column) => placement.elementInWarp(line, column),
    lane: (element) => placement.lane(element),
    text: (element) => (size.hasText ? `${placement.row(element)},${placement.column(element)}` : ""),
    lineLabel: String,
    columnLabel: (column) => {
      if (column % perRegister !== 0) return "";
      const register = (column / perRegister) * registersOfElement;
      return registersOfElement > 1 ? `r${register}-${register + 1}` : `r${register}`;
    },
  };
}

export function memoryModel(placement: Placement): PaneModel {
  const { bits } = placement.fragment;
  const size = cellSize(bits);
  const columns = placement.pictureLine;
  const bytes = (columns * bits) / 8;
  return {
    title: `Memory, ${placement.layout === "row" ? "row" : "column"} by ${placement.layout === "row" ? "row" : "column"}`,
    description: `Each line is ${bytes} bytes; its label is the address of the first.`,
    lines: Math.ceil(placement.extent / columns),
    columns,
    cellWidth: size.width,
    cellHeight: size.height,
    columnGroup: Math.max(1, 32 / bits),
    lineGroup: 8,
    labelWidth: 40,
    element: (line, column) => placement.elementInMemory(line * columns + column),
    lane: (element) => placement.lane(element),
    text: (element) => (size.hasText ? `${placement.row(element)},${placement.column(element)}` : ""),
    lineLabel: (line) => `0x${(line * bytes).toString(16).padStart(3, "0")}`,
    columnLabel: (column) => ((column * bits) % 32 === 0 ? `+${(column * bits) / 8}` : ""),
  };
}

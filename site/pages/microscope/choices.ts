// The choices of the form: which of them exist together, and the PTX that they spell.
import { required, setOptions } from "../../src/components/dom";
import { instructionText } from "../../src/data/instruction_text";
import type { Family, InstructionTables, Profile } from "../../src/data/tables";
import { profileName, roundingName } from "./names";

/** Everything the reader chooses, as it stands in the page's address. */
export interface Choice {
  mnemonic: string;
  kind: string;
  a_type: string;
  b_type: string;
  c_type: string;
  d_type: string;
  shape: string;
  rounding: string;
  operation: string;
  saturate: string;
  profile: string;
  a: string;
  b: string;
  c: string;
  scale_a: string;
  scale_b: string;
}

type SelectName = Exclude<keyof Choice, "a" | "b" | "c" | "scale_a" | "scale_b">;

const SELECTS: readonly SelectName[] = [
  "mnemonic",
  "kind",
  "a_type",
  "b_type",
  "c_type",
  "d_type",
  "shape",
  "rounding",
  "operation",
  "saturate",
  "profile",
];

const MNEMONICS = [
  ["wmma", "wmma.mma"],
  ["mma", "mma.sync"],
  ["wgmma", "wgmma.mma_async"],
] as const;

const plain = (names: readonly string[]): [string, string][] => names.map((name) => [name, name]);

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}

export class Choices {
  private readonly selects: Readonly<Record<SelectName, HTMLSelectElement>>;

  constructor(private readonly tables: InstructionTables) {
    const entries = SELECTS.map((name) => [name, required(`#${name}`, HTMLSelectElement)] as const);
    this.selects = Object.fromEntries(entries) as Record<SelectName, HTMLSelectElement>;
    setOptions(this.selects.mnemonic, MNEMONICS);
    this.narrow();
  }

  /** The family of the chosen instruction; it sets how many values a row has. */
  get family(): Family {
    const { mnemonic, kind, a_type: type, shape } = this.selects;
    const holders = this.families(mnemonic.value, kind.value).filter((family) => family.multiplicands.includes(type.value));
    const found = holders.find((family) => family.shapes.some(({ text }) => text === shape.value)) ?? holders[0];
    if (found === undefined) throw new Error(`No instruction ${mnemonic.value} of ${type.value}`);
    return found;
  }

  get k(): number {
    const found = this.family.shapes.find(({ text }) => text === this.selects.shape.value);
    if (found === undefined) throw new Error(`No shape ${this.selects.shape.value}`);
    return found.k;
  }

  get hasScales(): boolean {
    return this.value("kind").includes(".");
  }

  value(name: SelectName): string {
    return this.selects[name].value;
  }

  /** Chooses what is asked for, or the first of what exists instead; each choice narrows those after it. */
  choose(choice: Partial<Choice>): void {
    for (const name of SELECTS) {
      const wanted = choice[name];
      const select = this.selects[name];
      if (wanted !== undefined) select.selectedIndex = Math.max(0, [...select.options].findIndex(({ value }) => value === wanted));
      this.narrow();
    }
  }

  /** The chosen instruction as PTX without operands. */
  get ptx(): string {
    const chosen = SELECTS.map((name) => [name, this.selects[name].value] as const);
    return instructionText(Object.fromEntries(chosen) as Record<SelectName, string>);
  }

  /** Offers in each select what goes with the choices before it, and hides those with one choice only. */
  narrow(): void {
    const { selects } = this;
    const kinds = unique(this.families(selects.mnemonic.value).flatMap((family) => family.kinds));
    setOptions(selects.kind, kinds.length > 1 ? kinds.map((kind) => [kind, kind || "none"]) : []);
    const families = this.families(selects.mnemonic.value, selects.kind.value);
    setOptions(selects.a_type, plain(unique(families.flatMap((family) => family.multiplicands))));
    const holders = families.filter((family) => family.multiplicands.includes(selects.a_type.value));
    setOptions(selects.shape, plain(unique(holders.flatMap(({ shapes }) => shapes.map(({ text }) => text)))));
    const family = this.family;
    setOptions(selects.b_type, plain(family.mixed ? family.multiplicands : [selects.a_type.value]));
    setOptions(selects.c_type, plain(family.accumulators));
    setOptions(selects.d_type, plain(family.sameAccumulators ? [selects.c_type.value] : family.accumulators));
    setOptions(selects.rounding, family.roundings.map((name) => [name, roundingName(name)]));
    setOptions(selects.operation, plain(family.operations));
    setOptions(
      selects.saturate,
      family.saturate === "integer" ? [["", "wrap modulo 2^32"], ["satfinite", "saturate"]] : [],
    );
    this.narrowProfiles(family);
    for (const name of SELECTS) {
      const isFixed = selects[name].options.length < 2 && (name === "d_type" || name === "b_type");
      const isAbsent = selects[name].options.length === 0;
      selects[name].disabled = isFixed;
      selects[name].closest<HTMLElement>(".field")?.toggleAttribute("hidden", isAbsent);
    }
  }

  private families(mnemonic: string, kind?: string): readonly Family[] {
    const found = this.tables.families.filter((family) => family.mnemonic === mnemonic);
    return kind === undefined ? found : found.filter(({ kinds }) => kinds.includes(kind));
  }

  private narrowProfiles(family: Family): void {
    const index = this.tables.families.indexOf(family);
    const known = this.tables.profiles.filter(({ families }) => families.includes(index));
    setOptions(this.selects.profile, known.map((profile) => [profile.name, profileText(profile)]));
  }
}

function profileText({ name, measured, exact }: Profile): string {
  if (exact) return profileName(name);
  return `${profileName(name)} (${measured ? "measured on an H200" : "as published"})`;
}

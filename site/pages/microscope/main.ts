import "../../src/shell/shell";
import "./style.css";

import { html, required } from "../../src/components/dom";
import { type InstructionTables, loadTable } from "../../src/data/tables";
import { type Answer, type Field, type FieldError, isExplained, type Question } from "../../src/golden/explanation";
import { Stopped, WorkerClient, type WorkerState } from "../../src/workers/worker_client";
import { answerView } from "./answer_view";
import cases from "./cases.json";
import { type Choice, Choices } from "./choices";

const STATES: Readonly<Record<WorkerState, string>> = {
  stopped: "Stopped. Press Compute to go on.",
  loading: "Loading the golden model (Python)...",
  ready: "Ready.",
  computing: "Computing...",
  failed: "Failed.",
};

const DELAY = 250;
const FIELDS: readonly Field[] = ["instruction", "profile", "a", "b", "c", "scale_a", "scale_b"];
const SCALES = ["scale_a", "scale_b"] as const;
const OPERANDS = ["a", "b", "c", ...SCALES] as const;

function input(name: string): HTMLInputElement {
  return required(`#${name}`, HTMLInputElement);
}

class Page {
  private readonly form = required("#question", HTMLFormElement);
  private readonly caseSelect = required("#case", HTMLSelectElement);
  private readonly story = required("#story", HTMLElement);
  private readonly answerPlace = required("#answer", HTMLElement);
  private readonly stopButton = required("#stop", HTMLButtonElement);
  private readonly worker: WorkerClient<Question, Answer>;
  private timer: number | undefined;
  private asked = 0;

  constructor(private readonly choices: Choices) {
    this.worker = new WorkerClient<Question, Answer>("golden_worker", (state, message) => {
      this.showState(state, message);
    });
    this.worker.start();
    const options = cases.map(({ id, title }) => html("option", { value: id }, title));
    this.caseSelect.append(...options, html("option", { value: "" }, "Own values"));
    this.connect();
  }

  /** Takes up what the address asks for, and computes it. */
  open(): void {
    const wanted = Object.fromEntries(new URLSearchParams(location.hash.slice(1))) as Partial<Choice> & { case?: string };
    const prepared = cases.find(({ id }) => id === wanted.case);
    if (prepared !== undefined) this.showCase(prepared.id);
    else if (wanted.a !== undefined) {
      this.showChoice(wanted, "");
      this.setAddress(location.hash);
    } else this.showCase(cases[0]?.id ?? "");
  }

  private connect(): void {
    this.caseSelect.addEventListener("change", () => {
      if (this.caseSelect.value) this.showCase(this.caseSelect.value);
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.compute();
    });
    this.form.addEventListener("input", (event) => {
      if (event.target === this.caseSelect) return;
      if (event.target instanceof HTMLSelectElement) this.choices.narrow();
      this.markOwn();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        this.compute();
      }, DELAY);
    });
    this.stopButton.addEventListener("click", () => {
      clearTimeout(this.timer);
      this.worker.stop();
    });
    addEventListener("hashchange", () => {
      this.open();
    });
  }

  private showCase(id: string): void {
    const found = cases.find((prepared) => prepared.id === id);
    if (found === undefined) return;
    this.caseSelect.value = id;
    this.showChoice(found, found.story);
    this.setAddress(`#case=${id}`);
  }

  private showChoice(choice: Partial<Choice>, story: string): void {
    this.choices.choose({ kind: "", rounding: "", operation: "", saturate: "", ...choice });
    for (const name of OPERANDS) input(name).value = choice[name] ?? (name.startsWith("scale") ? "" : "0");
    this.story.textContent = story;
    if (!story) this.caseSelect.value = "";
    this.compute();
  }

  /** The address and the link to the page `hardware` hold what is asked. */
  private setAddress(fragment: string): void {
    history.replaceState(null, "", fragment);
    required("#in-hardware", HTMLAnchorElement).href = `hardware.html${fragment}`;
  }

  /** The values are the reader's own from now on; the address holds them, to be shared. */
  private markOwn(): void {
    this.caseSelect.value = "";
    this.story.textContent = "";
    const names = ["mnemonic", "kind", "a_type", "b_type", "c_type", "d_type", "shape", "rounding", "operation", "saturate"] as const;
    const entries = [...names, "profile" as const].map((name) => [name, this.choices.value(name)]);
    const values = OPERANDS.map((name) => [name, input(name).value]);
    const text = new URLSearchParams([...entries, ...values].filter(([, value]) => value) as [string, string][]);
    this.setAddress(`#${text.toString()}`);
  }

  private compute(): void {
    clearTimeout(this.timer);
    this.describeValues();
    const number = ++this.asked;
    this.answerPlace.setAttribute("aria-busy", "true");
    const question: Question = {
      instruction: this.choices.ptx,
      profile: this.choices.value("profile"),
      a: input("a").value,
      b: input("b").value,
      c: input("c").value,
      scale_a: input("scale_a").value,
      scale_b: input("scale_b").value,
    };
    this.worker.ask(question).then(
      (answer) => {
        if (number === this.asked) this.show(answer);
      },
      (error: unknown) => {
        if (!(error instanceof Stopped)) this.showState("failed", String(error));
      },
    );
  }

  private describeValues(): void {
    const { k } = this.choices;
    const type = this.choices.value("a_type");
    required("#ptx", HTMLElement).textContent = this.choices.ptx;
    for (const name of SCALES) input(name).closest(".field")?.toggleAttribute("hidden", !this.choices.hasScales);
    const isInteger = ["s8", "u8", "s4", "u4", "b1"].includes(type);
    const kinds = isInteger
      ? "whole numbers, or raw bits such as 0x1"
      : "decimal values (rounded to the format), inf, nan, or raw bits such as 0x3c00";
    required("#values-hint", HTMLElement).textContent =
      `Up to ${k} values in A and in B with commas between, one in C; missing ones are 0. Each is one of: ${kinds}.`;
  }

  private show(answer: Answer): void {
    this.showErrors(answer.errors);
    this.answerPlace.replaceChildren(...(isExplained(answer) ? answerView(answer) : []));
    this.answerPlace.setAttribute("aria-busy", "false");
    this.answerPlace.dataset.number = String(this.asked);
  }

  private showErrors(errors: readonly FieldError[]): void {
    for (const field of FIELDS) {
      const message = errors.find((error) => error.field === field)?.message;
      const place = required(`#${field}-error`, HTMLElement);
      place.textContent = message ?? "";
      place.hidden = message === undefined;
      const control = field === "instruction" ? undefined : document.getElementById(field);
      if (message === undefined) control?.removeAttribute("aria-invalid");
      else control?.setAttribute("aria-invalid", "true");
    }
  }

  private showState(state: WorkerState, message?: string): void {
    required("#state", HTMLElement).textContent = STATES[state];
    this.stopButton.disabled = state !== "loading" && state !== "computing";
    const failure = required("#failure", HTMLElement);
    failure.hidden = state !== "failed";
    failure.textContent = message === undefined ? "" : `The golden model could not run: ${message}`;
  }
}

function refuse(message: string): void {
  const failure = required("#failure", HTMLElement);
  failure.textContent = message;
  failure.hidden = false;
  required("#answer", HTMLElement).setAttribute("aria-busy", "false");
}

async function start(): Promise<void> {
  if (typeof WebAssembly === "undefined" || typeof Worker === "undefined") {
    refuse("This page needs a browser with WebAssembly and workers, as Firefox, Chrome and Safari have since 2017; they may be switched off here.");
    return;
  }
  new Page(new Choices(await loadTable<InstructionTables>("instructions"))).open();
}

start().catch((error: unknown) => {
  refuse(`The page could not start: ${error instanceof Error ? error.message : String(error)}`);
});

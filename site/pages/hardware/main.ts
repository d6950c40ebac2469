import "../../src/shell/shell";
import "./style.css";

import { html, required } from "../../src/components/dom";
import { type InstructionChoice, instructionText } from "../../src/data/instruction_text";
import type { FieldError } from "../../src/golden/explanation";
import { type Answer, hasOperations, type Question } from "../../src/hardware/operations";
import { Unit } from "../../src/hardware/unit";
import { Stopped, WorkerClient, type WorkerState } from "../../src/workers/worker_client";
import cases from "../microscope/cases.json";
import { type Entry, Flight } from "./flight";
import { pipelineView } from "./pipeline_view";
import { resultText, signalsView, verdict } from "./signals_view";

const STATES: Readonly<Record<WorkerState, string>> = {
  stopped: "Stopped. Put an operation into the queue to go on.",
  loading: "Loading the golden model (Python)...",
  ready: "Ready.",
  computing: "Computing...",
  failed: "Failed.",
};

const FIELDS = ["instruction", "a", "b", "c"] as const;
const OPERANDS = ["a", "b", "c"] as const;
const PARTS = ["mnemonic", "a_type", "b_type", "c_type", "d_type", "shape", "rounding", "operation", "saturate"] as const;
const COMPANIONS = ["f32-accumulator", "cancellation", "subnormals", "nan", "wrap"];
const MAX_OPERATIONS = 40;

type Choice = InstructionChoice & { readonly a: string; readonly b: string; readonly c: string };

function input(name: string): HTMLInputElement {
  return required(`#${name}`, HTMLInputElement);
}

function button(name: string): HTMLButtonElement {
  return required(`#${name}`, HTMLButtonElement);
}

class Page {
  private readonly caseSelect = required("#case", HTMLSelectElement);
  private readonly worker: WorkerClient<Question, Answer>;
  private choice: Choice = firstCase();
  private flights: Flight[] = [];
  private followed: Flight | undefined;
  private cycle = 0;
  private timer: number | undefined;

  constructor(private readonly unit: Unit) {
    this.worker = new WorkerClient<Question, Answer>("operations_worker", (state, message) => {
      this.showState(state, message);
    });
    const options = cases.map(({ id, title }) => html("option", { value: id }, title));
    this.caseSelect.append(...options, html("option", { value: "" }, "Own values"));
    this.connect();
    for (const name of ["step", "play", "reset", "clear"]) button(name).disabled = false;
  }

  /** Takes up what the address asks for, and fills the queue with that and some prepared cases. */
  async open(): Promise<void> {
    this.read();
    const others = cases.filter(({ id }) => COMPANIONS.includes(id) && id !== this.caseSelect.value);
    let goesOn = await this.enqueue(this.choice);
    for (const prepared of others) goesOn = goesOn && (await this.enqueue(prepared, false));
    required("#clock", HTMLElement).setAttribute("aria-busy", "false");
  }

  private read(): void {
    const wanted = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    const prepared = cases.find(({ id }) => id === wanted.case);
    if (prepared === undefined && wanted.a !== undefined && wanted.mnemonic !== undefined) {
      this.show({ ...firstCase(), ...wanted }, "", "");
    } else {
      const found = prepared ?? cases[0];
      this.show(found ?? this.choice, found?.id ?? "", found?.story ?? "");
    }
  }

  private show(choice: Choice, id: string, story: string): void {
    this.choice = choice;
    this.caseSelect.value = id;
    for (const name of OPERANDS) input(name).value = choice[name];
    required("#story", HTMLElement).textContent = story;
    this.showErrors([]);
    this.describe();
  }

  private describe(): void {
    required("#ptx", HTMLElement).textContent = instructionText(this.choice);
    const id = this.caseSelect.value;
    const entry = (name: keyof Choice): [string, string] => [name, this.choice[name] ?? ""];
    const profile: [string, string] = ["profile", this.unit.description.profile];
    const entries = [...PARTS.map(entry), profile, ...OPERANDS.map(entry)].filter(([, value]) => value);
    const address = id ? `#case=${id}` : `#${new URLSearchParams(entries).toString()}`;
    required("#microscope", HTMLAnchorElement).href = `microscope.html${address}`;
    history.replaceState(null, "", address);
  }

  private connect(): void {
    this.caseSelect.addEventListener("change", () => {
      const found = cases.find(({ id }) => id === this.caseSelect.value);
      if (found !== undefined) this.show(found, found.id, found.story);
      else this.describe();
    });
    const form = required("#question", HTMLFormElement);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.enqueue(this.choice);
    });
    form.addEventListener("input", (event) => {
      if (event.target === this.caseSelect) return;
      const values = Object.fromEntries(OPERANDS.map((name) => [name, input(name).value]));
      this.choice = { ...this.choice, ...values };
      this.caseSelect.value = "";
      required("#story", HTMLElement).textContent = "";
      this.describe();
    });
    addEventListener("hashchange", () => {
      this.read();
    });
    button("stop").addEventListener("click", () => {
      this.worker.stop();
    });
    button("step").addEventListener("click", () => {
      this.pause();
      this.step();
    });
    button("play").addEventListener("click", () => {
      if (this.timer === undefined) this.play();
      else this.pause();
    });
    button("reset").addEventListener("click", () => {
      this.reset();
    });
    button("clear").addEventListener("click", () => {
      this.flights = [];
      this.followed = undefined;
      this.reset();
    });
    required("#speed", HTMLSelectElement).addEventListener("change", () => {
      if (this.timer !== undefined) this.play();
    });
    required("#clock", HTMLElement).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" || !(event.target instanceof HTMLButtonElement)) return;
      event.preventDefault();
      this.pause();
      this.step();
    });
  }

  /** Makes the operations of a choice; false if the reader stopped that. */
  private async enqueue(choice: Choice, showsErrors = true): Promise<boolean> {
    const { a, b, c } = choice;
    const instruction = instructionText(choice);
    try {
      const answer = await this.worker.ask({ description: this.unit.description, instruction, a, b, c });
      if (showsErrors) this.showErrors(answer.errors);
      if (!hasOperations(answer)) return true;
      const count = answer.operations.length;
      answer.operations.forEach((operation, index) => {
        const part = count > 1 ? `, part ${index + 1} of ${count}` : "";
        const detail = `${choice.a_type}: (${a}) \u00d7 (${b}) + ${c} to ${choice.d_type}${part}`.replaceAll("-", "\u2212");
        this.add({ title: answer.title, format: index === count - 1 ? answer.format : "f32", detail, operation });
      });
    } catch (error) {
      if (error instanceof Stopped) return false;
      this.showState("failed", String(error));
    }
    return true;
  }

  private add(entry: Entry): void {
    if (this.flights.length >= MAX_OPERATIONS) {
      this.showErrors([{ field: "instruction", message: `The queue has ${MAX_OPERATIONS} operations; empty it first.` }]);
      return;
    }
    const flight = new Flight(this.flights.length + 1, entry);
    this.flights.push(flight);
    this.followed ??= flight;
    this.draw();
  }

  private step(): void {
    const next = this.flights.find(({ acceptedAt }) => acceptedAt === undefined);
    const leaving = this.flights.find(({ acceptedAt, result }) => acceptedAt !== undefined && result === undefined);
    const { accepted, result } = this.unit.step(next?.entry.operation.words);
    if (accepted && next !== undefined) next.acceptedAt = this.cycle;
    if (result !== undefined && leaving !== undefined) leaving.result = result;
    this.cycle += 1;
    for (const flight of this.flights) flight.observe(this.unit, this.cycle);
    if (this.flights.every((flight) => flight.result !== undefined)) this.pause();
    this.draw();
  }

  private play(): void {
    clearInterval(this.timer);
    const pause = Number(required("#speed", HTMLSelectElement).value);
    this.timer = setInterval(() => {
      this.step();
    }, pause);
    this.showPlaying();
  }

  private pause(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.showPlaying();
  }

  private showPlaying(): void {
    const play = button("play");
    play.textContent = this.timer === undefined ? "Play" : "Pause";
    play.setAttribute("aria-pressed", String(this.timer !== undefined));
  }

  private reset(): void {
    this.pause();
    this.unit.reset();
    this.cycle = 0;
    for (const flight of this.flights) flight.restart();
    this.draw();
  }

  private draw(): void {
    required("#cycle", HTMLOutputElement).textContent = `cycle ${this.cycle}`;
    this.drawQueue();
    required("#pipeline", HTMLElement).replaceChildren(...pipelineView(this.unit, this.flights, this.cycle, this.followed));
    const message = required("#verdict", HTMLElement);
    if (this.followed === undefined) {
      message.textContent = "Put an operation into the queue and step.";
      required("#signals", HTMLElement).replaceChildren();
      return;
    }
    const comparisons = this.followed.compare(this.unit.description.signals);
    const { text, bad } = verdict(this.followed, comparisons);
    if (message.textContent !== text) message.textContent = text;
    message.classList.toggle("error", bad);
    required("#signals", HTMLElement).replaceChildren(...signalsView(this.unit.description, this.followed, comparisons));
  }

  private drawQueue(): void {
    const place = required("#queue", HTMLElement);
    const focused = place.contains(document.activeElement) ? document.activeElement?.getAttribute("data-number") : null;
    const items = this.flights.map((flight) => {
      const age = flight.age(this.cycle);
      const result = flight.result;
      const equal = result === flight.entry.operation.result;
      const where = result !== undefined ? resultText(flight) : age > 0 ? `in its cycle ${age}` : "waits";
      const choose = html(
        "button",
        { type: "button", class: "quiet entry", "aria-pressed": String(flight === this.followed), "data-number": flight.number },
        html("span", { class: `chip hue-${flight.number % 8}` }, String(flight.number)),
        html("span", { class: "entry-text" }, flight.entry.detail),
        html("span", { class: "where" }, where),
      );
      if (result !== undefined) choose.append(html("span", { class: `badge ${equal ? "same" : "differs"}` }, equal ? "equals golden" : "differs"));
      choose.addEventListener("click", () => {
        this.followed = flight;
        this.draw();
      });
      return html("li", {}, choose);
    });
    place.replaceChildren(...items);
    if (focused !== null && focused !== undefined) place.querySelector<HTMLElement>(`[data-number="${focused}"]`)?.focus();
  }

  private showErrors(errors: readonly FieldError[]): void {
    for (const field of FIELDS) {
      const message = errors.find((error) => error.field === field)?.message;
      const place = required(`#${field}-error`, HTMLElement);
      place.textContent = message ?? "";
      place.hidden = message === undefined;
      const control = field === "instruction" ? undefined : input(field);
      if (message === undefined) control?.removeAttribute("aria-invalid");
      else control?.setAttribute("aria-invalid", "true");
    }
  }

  private showState(state: WorkerState, message?: string): void {
    required("#state", HTMLElement).textContent = STATES[state];
    button("stop").disabled = state !== "loading" && state !== "computing";
    required("#failure", HTMLElement).hidden = true;
    if (state === "failed") refuse(`The golden model could not run: ${message ?? ""}`);
  }
}

function firstCase(): Choice {
  const [first] = cases;
  if (first === undefined) throw new Error("There is no prepared case");
  return first;
}

function refuse(message: string): void {
  const failure = required("#failure", HTMLElement);
  failure.textContent = message;
  failure.hidden = false;
  required("#clock", HTMLElement).setAttribute("aria-busy", "false");
}

async function start(): Promise<void> {
  if (typeof WebAssembly === "undefined" || typeof Worker === "undefined") {
    refuse("This page needs a browser with WebAssembly and workers, as Firefox, Chrome and Safari have since 2017; they may be switched off here.");
    return;
  }
  await new Page(await Unit.load(new URL("data/", document.baseURI))).open();
}

start().catch((error: unknown) => {
  refuse(`The page could not start: ${error instanceof Error ? error.message : String(error)}`);
});

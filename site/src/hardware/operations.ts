// What `answers.unit_operations` is asked and answers.
import type { FieldError } from "../golden/explanation";
import type { UnitDescription } from "./unit";

export interface Question {
  readonly description: UnitDescription;
  readonly instruction: string;
  readonly a: string;
  readonly b: string;
  readonly c: string;
}

export interface Operation {
  readonly words: readonly number[];
  readonly c: number;
  readonly result: number;
  /** An infinity or NaN decides the result. */
  readonly special: boolean;
  /** Elements of signals by `stage.field`, as decimal text. */
  readonly expected: Readonly<Record<string, readonly string[]>>;
}

export interface Refused {
  readonly errors: readonly [FieldError, ...FieldError[]];
}

export interface Operations {
  readonly errors: readonly [];
  readonly title: string;
  readonly format: string;
  readonly operations: readonly Operation[];
}

export type Answer = Refused | Operations;

/** Whether an answer has operations. */
export function hasOperations(answer: Answer): answer is Operations {
  return answer.errors.length === 0;
}

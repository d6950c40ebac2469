// Elements with attributes and children in one call, and elements that must be there.

type Attributes = Record<string, string | number | boolean | undefined>;
type Child = Node | string;

const SVG = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** A new HTML element. Attributes that are undefined or false are left out. */
export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** A new SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** The element of a selector; an error names the selector if the page has none of that type. */
export function required<E extends Element>(
  selector: string,
  type: abstract new () => E,
  parent: ParentNode = document,
): E {
  const found = parent.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`The page has no ${type.name} ${selector}`);
  return found;
}

/** Options of a select, in order; keeps the value if it is still among them. */
export function setOptions(select: HTMLSelectElement, options: readonly (readonly [string, string])[]): void {
  const before = select.value;
  select.replaceChildren(...options.map(([value, text]) => html("option", { value }, text)));
  if (options.some(([value]) => value === before)) select.value = before;
}

/** `count` with the noun in singular or plural. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const SUPERSCRIPTS = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";

/** A power of two with a raised exponent. */
export function powerOfTwo(exponent: number): string {
  const digits = String(Math.abs(exponent)).replace(/\d/g, (digit) => SUPERSCRIPTS.charAt(Number(digit)));
  return `2${exponent < 0 ? "\u207b" : ""}${digits}`;
}

/** A number in text with a true minus sign, NaN and infinity. */
export function signed(number: number | string): string {
  return String(number).replace(/^-/, "\u2212").replace("nan", "NaN").replace("inf", "\u221e");
}

// Names of roundings and of profiles, as the page writes them.

const ROUNDINGS: Readonly<Record<string, string>> = {
  rn: "to nearest even",
  rz: "towards zero",
  rm: "downwards",
  rp: "upwards",
};

/** A rounding mode in words. */
export function roundingName(mode: string): string {
  return ROUNDINGS[mode] ?? mode;
}

/** A generation, or a rounding of the exact sum. */
export function profileName(name: string): string {
  if (name === "exact") return "exact sum, rounded once";
  if (name.startsWith("exact.")) return `exact sum, rounded ${roundingName(name.slice("exact.".length))}`;
  return name.charAt(0).toUpperCase() + name.slice(1);
}

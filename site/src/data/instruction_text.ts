// The PTX of an instruction from its choices.

export interface InstructionChoice {
  readonly mnemonic: string;
  /** As `Family.kinds` has them. */
  readonly kind?: string;
  readonly a_type: string;
  readonly b_type: string;
  readonly c_type: string;
  readonly d_type: string;
  readonly shape: string;
  readonly rounding?: string;
  readonly operation?: string;
  readonly saturate?: string;
}

/** PTX without operands. */
export function instructionText(choice: InstructionChoice): string {
  const { a_type: a, b_type: b, c_type: c, d_type: d, shape } = choice;
  const rounding = choice.rounding ? `.${choice.rounding}` : "";
  const operation = choice.operation ? `.${choice.operation}.popc` : "";
  const satfinite = choice.saturate === "satfinite" ? ".satfinite" : "";
  switch (choice.mnemonic) {
    case "wgmma":
      return `wgmma.mma_async.sync.aligned.${shape}.${d}.${a}.${b}${satfinite}`;
    case "mma": {
      const [kind, vec, scale] = (choice.kind ?? "").split(".");
      const scales = vec && scale ? [`.block_scale.scale_vec::${vec}`, `.${scale}`] : ["", ""];
      const before = `${kind ? `.kind::${kind}` : ""}${scales[0]}`;
      return `mma.sync.aligned.${shape}.row.col${before}${satfinite}${rounding}.${d}.${a}.${b}.${c}${scales[1]}${operation}`;
    }
    default: {
      const types = a === "f16" ? `${d}.${c}` : `${d}.${a}.${b}.${c}`;
      return `wmma.mma${operation}.sync.aligned.row.col.${shape}${rounding}.${types}${satfinite}`;
    }
  }
}

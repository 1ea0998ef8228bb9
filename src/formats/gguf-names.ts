// The differences between GGUF and Hugging Face: names of tensors; for Llama, the order of rows in the query and key projections; for Gemma 3,
// norms that include the 1 which the model adds.

const wholeModelNames: ReadonlyMap<string, string> = new Map([
  ['token_embd.weight', 'model.embed_tokens.weight'],
  ['output_norm.weight', 'model.norm.weight'],
  ['output.weight', 'lm_head.weight'],
]);

const layerNames: ReadonlyMap<string, string> = new Map([
  ['attn_norm', 'input_layernorm'],
  ['attn_q', 'self_attn.q_proj'],
  ['attn_k', 'self_attn.k_proj'],
  ['attn_q_norm', 'self_attn.q_norm'],
  ['attn_k_norm', 'self_attn.k_norm'],
  ['attn_v', 'self_attn.v_proj'],
  ['attn_output', 'self_attn.o_proj'],
  ['ffn_norm', 'post_attention_layernorm'],
  ['ffn_gate', 'mlp.gate_proj'],
  ['ffn_up', 'mlp.up_proj'],
  ['ffn_down', 'mlp.down_proj'],
]);

/** In Gemma 3 the norm after attention is another one than the norm before the feed-forward layer. */
const gemma3LayerNames: ReadonlyMap<string, string> = new Map([
  ...layerNames,
  ['post_attention_norm', 'post_attention_layernorm'],
  ['ffn_norm', 'pre_feedforward_layernorm'],
  ['post_ffw_norm', 'post_feedforward_layernorm'],
]);

/**
 * `model.layers.0.self_attn.q_proj.weight` for `blk.0.attn_q.weight`; undefined for a tensor that no family of ours has.
 * @param architecture as the file calls it
 */
export function huggingFaceName(ggufName: string, architecture: unknown): string | undefined {
  const [, layer, part, kind] = /^blk\.(\d+)\.(\w+)\.(weight|bias)$/.exec(ggufName) ?? [];
  const name = part && (architecture === 'gemma3' ? gemma3LayerNames : layerNames).get(part);
  return name ? `model.layers.${layer}.${name}.${kind}` : wholeModelNames.get(ggufName);
}

/**
 * Undoes the row order that GGUF gives the query and key projections of a Llama: it keeps each rotary pair in adjacent rows (2i, 2i + 1
 * within a head), Hugging Face keeps them half a head apart (i, i + half).
 * @param weight [rows, columns], row-major; `columns` is 1 for a bias. Of numbers in blocks, bytes may be given instead
 * @param heads query heads for the query projection, key-value heads for the key projection
 * @param into [rows, columns], not `weight` itself
 */
export function unpermuteRows<Numbers extends Float32Array | Uint8Array>(
  weight: Numbers,
  rows: number,
  columns: number,
  heads: number,
  into: Numbers,
): Numbers {
  const half = rows / heads / 2;
  if (!Number.isInteger(half) || weight.length !== rows * columns || into.length !== weight.length) {
    throw new RangeError(`cannot reorder ${weight.length} values as [${rows}, ${columns}] with ${heads} heads`);
  }
  for (let to = 0; to < rows; to++) {
    const head = to - (to % (2 * half));
    const pair = to % half;
    const from = head + 2 * pair + (to - head >= half ? 1 : 0);
    into.set(weight.subarray(from * columns, (from + 1) * columns), to * columns);
  }
  return into;
}

// Gradient checkpointing: what the backward pass recomputes instead of keeping. Chen et al. 2016, arXiv:1604.06174; the choice of operators
// follows Korthikanti et al. 2022, arXiv:2205.05198.
import type { Tensor } from './graph.ts';
import { add, mul, reduceSum } from './ops.ts';

/** The operators that are recomputed after a `cheap` checkpoint. Sums are not among them, since they are fused into products. */
const cheapOperators: ReadonlySet<Tensor['op']> = new Set(['mul', 'sigmoid', 'tanh', 'rmsNorm']);

/** Copies the forward graph for the backward pass, one section between checkpoints at a time, from the last to the first. */
export class Recomputation {
  /** The number of a tensor's section: how many checkpoints precede it. */
  readonly #sections = new Map<Tensor, number>();
  readonly #last: number;
  /** Sections in which only cheap operators are recomputed. */
  readonly #cheap = new Set<number>();
  readonly #copies = new Map<Tensor, Tensor>();
  /** Gradients computed in the current section. */
  #found: Tensor[] = [];
  /** A zero that depends on the gradients of the section after this one, to make this one wait for them: []. */
  #done: Tensor | undefined;

  /** @param order operands before the operators that use them */
  constructor(order: readonly Tensor[]) {
    for (const node of order) {
      const before = Math.max(0, ...node.inputs.map((operand) => this.#sections.get(operand)!));
      this.#sections.set(node, before + Number(node.op === 'checkpoint'));
      if (node.op === 'checkpoint' && node.attributes.again === 'cheap') this.#cheap.add(before + 1);
    }
    this.#last = Math.max(0, ...this.#sections.values());
  }

  /** The tensor to use for `node` in the backward pass: a copy between checkpoints, the original before the first and after the last. */
  of(node: Tensor): Tensor {
    const section = this.#sections.get(node)!;
    if (section === 0 || section === this.#last) return node;
    // Products are kept, so their operands need not be.
    return node.op === 'matmul' && this.#cheap.has(section) ? this.#copy(node, section) : this.#again(node, section);
  }

  /** Registers a gradient that is part of the result. */
  found(gradient: Tensor): void {
    this.#found.push(gradient);
  }

  /** Ends a section: its checkpoint has been reached, and this is the checkpoint's gradient. */
  finish(gradient: Tensor): void {
    // Wait for results as well: otherwise they would be computed last and keep their operands alive.
    const waited = [gradient, ...this.#found].map((x) => reduceSum(x));
    this.#done = mul(
      waited.reduce((a, b) => add(a, b)),
      0,
    );
    this.#found = [];
  }

  #again(node: Tensor, section: number): Tensor {
    const known = this.#copies.get(node) ?? this.#new(node, section);
    this.#copies.set(node, known);
    return known;
  }

  #new(node: Tensor, section: number): Tensor {
    if (node.op === 'checkpoint') return this.#later(node);
    if (!this.#cheap.has(section)) return this.#copy(node, section);
    if (!cheapOperators.has(node.op)) return node;
    const copy = this.#copy(node, section);
    const [first, ...others] = copy.inputs;
    const isNew = copy.inputs.some((operand, i) => operand !== node.inputs[i]);
    return isNew ? copy : ({ ...copy, inputs: [this.#later(first!), ...others] } as Tensor);
  }

  /** Delays a tensor until the next section is done; otherwise everything that depends on it would be computed at once and kept. */
  #later(node: Tensor): Tensor {
    return this.#done ? add(node, this.#done) : node;
  }

  #copy(node: Tensor, section: number): Tensor {
    return { ...node, inputs: node.inputs.map((operand) => this.#within(operand, section)) } as Tensor;
  }

  #within(operand: Tensor, section: number): Tensor {
    return this.#sections.get(operand) === section ? this.#again(operand, section) : operand;
  }
}

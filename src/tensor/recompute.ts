// What the backward pass computes again instead of keeping: everything between two checkpoints, or what costs no more than a pass over memory.
// Chen et al. 2016, arXiv:1604.06174; of which operators, Korthikanti et al. 2022, arXiv:2205.05198.
import type { Tensor } from './graph.ts';
import { add, mul, reduceSum } from './ops.ts';

/** What a checkpoint with `cheap` lets be computed again. Sums are not among them: they are part of the products before them. */
const CHEAP: ReadonlySet<Tensor['op']> = new Set(['mul', 'sigmoid', 'tanh', 'rmsNorm']);

/** Copies of the forward graph for the backward pass, section by section, from the last checkpoint to the first. */
export class Recomputation {
  /** How many checkpoints lie before a tensor: the number of its section. */
  readonly #sections = new Map<Tensor, number>();
  readonly #last: number;
  /** Sections of which only what is cheap is computed again. */
  readonly #cheap = new Set<number>();
  readonly #copies = new Map<Tensor, Tensor>();
  /** Gradients that were found in the section that is being differentiated. */
  #found: Tensor[] = [];
  /** What the section before it must wait for, times 0: []. */
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

  /** `node` as its gradient's rule reads it: behind the last checkpoint and before the first it is the very same. */
  of(node: Tensor): Tensor {
    const section = this.#sections.get(node)!;
    if (section === 0 || section === this.#last) return node;
    // A product is kept, and what was multiplied need not be.
    return node.op === 'matmul' && this.#cheap.has(section) ? this.#copy(node, section) : this.#again(node, section);
  }

  /** Tells of a gradient that is part of the result. */
  found(gradient: Tensor): void {
    this.#found.push(gradient);
  }

  /** Tells that a section has been differentiated, down to its checkpoint, whose gradient this is. */
  finish(gradient: Tensor): void {
    // Results are waited for too: they would otherwise be computed last, and keep what they are computed from.
    const waited = [...this.#found, gradient].map((x) => reduceSum(x));
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
    if (!CHEAP.has(node.op)) return node;
    const copy = this.#copy(node, section);
    const [first, ...others] = copy.inputs;
    const isNew = copy.inputs.some((operand, i) => operand !== node.inputs[i]);
    return isNew ? copy : ({ ...copy, inputs: [this.#later(first!), ...others] } as Tensor);
  }

  /** The same, but there only once the next section is done: what is computed of it would be computed at once otherwise, and kept. */
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

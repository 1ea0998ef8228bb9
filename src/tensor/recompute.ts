// What the backward pass computes again instead of keeping: everything between two checkpoints. Chen et al. 2016, arXiv:1604.06174.
import type { Tensor } from './graph.ts';
import { add, mul, reshape, slice } from './ops.ts';

/** Copies of the forward graph for the backward pass, section by section, from the last checkpoint to the first. */
export class Recomputation {
  /** How many checkpoints lie before a tensor: the number of its section. */
  readonly #sections = new Map<Tensor, number>();
  readonly #last: number;
  readonly #copies = new Map<Tensor, Tensor>();
  /** Gradients that were found in the section that is being differentiated. */
  #found: Tensor[] = [];
  /** What the section before it must wait for, times 0: [1]. */
  #done: Tensor | undefined;

  /** @param order operands before the operators that use them */
  constructor(order: readonly Tensor[]) {
    for (const node of order) {
      const before = Math.max(0, ...node.inputs.map((operand) => this.#sections.get(operand)!));
      this.#sections.set(node, before + Number(node.op === 'checkpoint'));
    }
    this.#last = Math.max(0, ...this.#sections.values());
  }

  /** `node` as the backward pass reads it: behind the last checkpoint and before the first it is the very same. */
  of(node: Tensor): Tensor {
    const section = this.#sections.get(node)!;
    if (section === 0 || section === this.#last) return node;
    const known = this.#copies.get(node);
    if (known) return known;
    const copy = node.op === 'checkpoint' ? this.#later(node) : this.#copy(node, section);
    this.#copies.set(node, copy);
    return copy;
  }

  /** Tells of a gradient that is part of the result. */
  found(gradient: Tensor): void {
    this.#found.push(gradient);
  }

  /** Tells that a section has been differentiated, down to its checkpoint, whose gradient this is. */
  finish(gradient: Tensor): void {
    // Results are waited for too: they would otherwise be computed last, and keep what they are computed from.
    const waited = [...this.#found, gradient].map(firstElement);
    this.#done = mul(
      waited.reduce((a, b) => add(a, b)),
      0,
    );
    this.#found = [];
  }

  /** A checkpoint that is there only once the next section is done: copies of what follows it would be computed at once otherwise, and kept. */
  #later(node: Tensor): Tensor {
    return this.#done ? add(node, this.#done) : node;
  }

  #copy(node: Tensor, section: number): Tensor {
    return { ...node, inputs: node.inputs.map((operand) => this.#within(operand, section)) } as Tensor;
  }

  #within(operand: Tensor, section: number): Tensor {
    return this.#sections.get(operand) === section ? this.of(operand) : operand;
  }
}

/** [1] */
function firstElement(x: Tensor): Tensor {
  return reshape(
    x.shape.reduce<Tensor>((part, _, axis) => slice(part, axis, 0, 1), x),
    [1],
  );
}

// Lowers a graph to an ONNX model: one table, one row an operator. The graph is portable: it uses only operators
// that ONNX Runtime computes rightly on CPU and on WebGPU alike, so FusedMatMul, LogSoftmax and two-output normalisations are avoided.
import { applyRow, inputsOf, type OperatorTable, type Tensor, topologicalOrder } from './graph.ts';
import { encodeModel, type OnnxAttribute, type OnnxConstant, type OnnxNode, type OnnxType } from './onnx-protobuf.ts';
import { optimize } from './passes.ts';
import { type Dimension, formatDimension, type Shape, sameDimension } from './shape.ts';

export interface LoweringOptions {
  /** Names of inputs whose values the session is given once, when it is created: weights that stay as they are. @default none */
  initializers?: ReadonlySet<string>;
  /** The file name that such inputs claim as the place of their values; see runtime/session.ts. */
  externalLocation?: string;
}

/** The bytes of an ONNX model that computes named outputs. */
export function lowerToOnnx(outputs: Readonly<Record<string, Tensor>>, options: LoweringOptions = {}): Uint8Array {
  const { initializers = new Set(), externalLocation = '.' } = options;
  const names = Object.keys(outputs);
  const roots = optimize(Object.values(outputs));
  const emitter = new Emitter(roots);
  const results = new Map<Tensor, readonly string[]>();
  for (const node of topologicalOrder(roots)) {
    const operands =
      node.op === 'part' ? results.get(node.inputs[0]!)! : node.inputs.map((operand) => results.get(operand)![0]!);
    const result = applyRow(lowerings, node, operands, emitter);
    results.set(node, typeof result === 'string' ? [result] : result);
  }
  emitter.nameOutputs(names.map((name, i) => ({ name, from: results.get(roots[i]!)![0]! })));
  const inputs = [...inputsOf(roots)].map(([name, { type, shape }]) => ({ name, type, shape }));
  return encodeModel({
    nodes: emitter.nodes,
    inputs: inputs.filter(({ name }) => !initializers.has(name)),
    outputs: roots.map(({ type, shape }, i) => ({ name: names[i]!, type, shape })),
    constants: [
      ...emitter.constants,
      ...inputs
        .filter(({ name }) => initializers.has(name))
        .map(({ name, type, shape }) => ({
          name,
          type,
          shape: shape as readonly number[],
          data: { externalLocation },
        })),
    ],
  });
}

/** Collects nodes and constants, and knows how to compute named sizes while the graph runs. */
class Emitter {
  readonly nodes: OnnxNode[] = [];
  readonly constants: OnnxConstant[] = [];
  readonly #constantNames = new Map<string, string>();
  readonly #sizeSources = new Map<string, { input: string; axis: number }>();
  readonly #dimensions = new Map<string, string>();
  #count = 0;

  constructor(roots: readonly Tensor[]) {
    for (const [input, { shape }] of inputsOf(roots)) {
      for (const [axis, dimension] of shape.entries()) {
        const name = formatDimension(dimension);
        if (typeof dimension !== 'number' && !this.#sizeSources.has(name)) this.#sizeSources.set(name, { input, axis });
      }
    }
  }

  /** Adds a node and names its result. */
  node(
    op: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    domain = '',
  ): string {
    return this.nodeWithResults(1, op, inputs, attributes, domain)[0]!;
  }

  nodeWithResults(
    results: number,
    op: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>>,
    domain: string,
  ): string[] {
    const outputs = Array.from({ length: results }, () => this.#name());
    this.nodes.push({ op, inputs, outputs, attributes, domain });
    return outputs;
  }

  constant(type: OnnxType, values: readonly number[], shape: readonly number[]): string {
    const key = `${type}[${shape}]${values.map((value) => (Object.is(value, -0) ? '-0' : value))}`;
    const known = this.#constantNames.get(key);
    if (known) return known;
    const name = this.#name();
    this.constants.push({ name, type, shape, data: bytesOf(type, values) });
    this.#constantNames.set(key, name);
    return name;
  }

  integers(values: readonly number[]): string {
    return this.constant('int64', values, [values.length]);
  }

  /** A dimension as an int64 [1] tensor. */
  dimension(dimension: Dimension): string {
    if (typeof dimension === 'number') return this.integers([dimension]);
    const key = formatDimension(dimension);
    const known = this.#dimensions.get(key);
    if (known) return known;
    const source = this.#sizeSources.get(key);
    const name = source
      ? this.node('Shape', [source.input], { start: source.axis, end: source.axis + 1 })
      : [...dimension.terms]
          .map(([monomial, coefficient]) => this.#monomial(monomial, coefficient))
          .reduce((a, b) => this.node('Add', [a, b]));
    this.#dimensions.set(key, name);
    return name;
  }

  /** A shape as an int64 vector. */
  shape(shape: Shape): string {
    if (shape.every((dimension) => typeof dimension === 'number')) return this.integers(shape);
    const parts = shape.map((dimension) => this.dimension(dimension));
    return parts.length === 1 ? parts[0]! : this.node('Concat', parts, { axis: 0 });
  }

  /** Gives results the names under which the caller binds them, without copying them where that can be helped. */
  nameOutputs(outputs: readonly { name: string; from: string }[]): void {
    const renamed = new Map<string, string>();
    const produced = new Set(this.nodes.flatMap((node) => node.outputs));
    for (const { name, from } of outputs) {
      if (produced.has(from) && !renamed.has(from)) renamed.set(from, name);
      else this.nodes.push({ op: 'Identity', inputs: [from], outputs: [name] });
    }
    const rename = (name: string) => renamed.get(name) ?? name;
    for (const [i, node] of this.nodes.entries()) {
      this.nodes[i] = { ...node, inputs: node.inputs.map(rename), outputs: node.outputs.map(rename) };
    }
  }

  #monomial(monomial: string, coefficient: number): string {
    const factors = monomial
      .split('*')
      .filter(Boolean)
      .map((name) => {
        const source = this.#sizeSources.get(name);
        if (!source) throw new Error(`no input has the size ${name} as one of its dimensions`);
        return this.dimension({ terms: new Map([[name, 1]]) });
      });
    if (coefficient !== 1 || factors.length === 0) factors.push(this.integers([coefficient]));
    return factors.reduce((a, b) => this.node('Mul', [a, b]));
  }

  #name(): string {
    return `%${this.#count++}`; // no name that a caller would choose
  }
}

const MICROSOFT = 'com.microsoft';

type Row = string | readonly string[];

const unary =
  (op: string) =>
  (_: Tensor, [x]: readonly string[], emit: Emitter) =>
    emit.node(op, [x!]);
const binary =
  (op: string) =>
  (_: Tensor, [a, b]: readonly string[], emit: Emitter) =>
    emit.node(op, [a!, b!]);
const reduction =
  (op: string) =>
  (
    { attributes: { axes, keepDimensions } }: { attributes: { axes: readonly number[]; keepDimensions: boolean } },
    [x]: readonly string[],
    emit: Emitter,
  ) =>
    emit.node(op, [x!, emit.integers(axes)], { keepdims: Number(keepDimensions) });

const lowerings: OperatorTable<[operands: readonly string[], emit: Emitter], Row> = {
  input: ({ attributes: { name } }) => name,
  constant: ({ attributes: { values }, shape, type }, _, emit) =>
    emit.constant(type, values, shape as readonly number[]),

  neg: unary('Neg'),
  exp: unary('Exp'),
  log: unary('Log'),
  sqrt: unary('Sqrt'),
  reciprocal: unary('Reciprocal'),
  sigmoid: unary('Sigmoid'),
  tanh: unary('Tanh'),
  abs: unary('Abs'),
  not: unary('Not'),
  cast: ({ type }, [x], emit) => emit.node('Cast', [x!], { to: { float32: 1, int64: 7, bool: 9 }[type] }),
  stopGradient: (_, [x]) => x!,

  add: binary('Add'),
  sub: binary('Sub'),
  mul: binary('Mul'),
  div: binary('Div'),
  maximum: binary('Max'),
  minimum: binary('Min'),
  less: binary('Less'),
  greater: binary('Greater'),
  equal: binary('Equal'),
  and: binary('And'),
  where: (_, operands, emit) => emit.node('Where', operands),

  reduceSum: reduction('ReduceSum'),
  reduceMean: reduction('ReduceMean'),
  reduceMax: reduction('ReduceMax'),

  reshape: ({ inputs: [x], shape }, [operand], emit) => {
    // ONNX's own notation spares computing sizes: 0 keeps the operand's dimension, one −1 is inferred.
    const kept = shape.map((dimension, axis) => {
      if (typeof dimension === 'number') return dimension;
      return axis < x!.shape.length && sameDimension(dimension, x!.shape[axis]!) ? 0 : -1;
    });
    const inferred = kept.filter((dimension) => dimension === -1).length;
    return emit.node('Reshape', [operand!, inferred <= 1 ? emit.integers(kept) : emit.shape(shape)]);
  },
  transpose: ({ attributes: { permutation } }, [x], emit) => emit.node('Transpose', [x!], { perm: permutation }),
  expand: ({ shape }, [x], emit) => emit.node('Expand', [x!, emit.shape(shape)]),
  concat: ({ attributes: { axis } }, parts, emit) => emit.node('Concat', parts, { axis }),
  slice: ({ attributes: { axis, start, end } }, [x], emit) =>
    emit.node('Slice', [x!, emit.dimension(start), emit.dimension(end), emit.integers([axis])]),
  gatherRows: (_, [table, ids], emit) => emit.node('Gather', [table!, ids!], { axis: 0 }),
  scatterAddRows: ({ inputs: [, ids] }, [base, at, updates], emit) =>
    emit.node('ScatterND', [base!, emit.node('Unsqueeze', [at!, emit.integers([ids!.shape.length])]), updates!], {
      reduction: 'add',
    }),
  gatherElements: (_, [x, ids], emit) => emit.node('GatherElements', [x!, ids!], { axis: -1 }),
  scatterAddElements: (_, operands, emit) => emit.node('ScatterElements', operands, { axis: -1, reduction: 'add' }),

  matmul: ({ inputs: [a, b], attributes: { transposeA, transposeB, alpha } }, [left, right], emit) => {
    if (a!.shape.length === 2 && b!.shape.length === 2) {
      return emit.node('Gemm', [left!, right!], {
        transA: Number(transposeA),
        transB: Number(transposeB),
        alpha: { float: alpha },
      });
    }
    const turned = (name: string, rank: number) => emit.node('Transpose', [name], { perm: swapLastAxes(rank) });
    const product = emit.node('MatMul', [
      transposeA ? turned(left!, a!.shape.length) : left!,
      transposeB ? turned(right!, b!.shape.length) : right!,
    ]);
    return alpha === 1 ? product : emit.node('Mul', [product, emit.constant('float32', [alpha], [])]);
  },
  softmax: (_, [x], emit) => emit.node('Softmax', [x!], { axis: -1 }),
  logSumExp: (_, [x], emit) => {
    const last = emit.integers([-1]);
    const highest = emit.node('ReduceMax', [x!, last], { keepdims: 1 });
    const exponentials = emit.node('Exp', [emit.node('Sub', [x!, highest])]);
    return emit.node('Add', [
      emit.node('Log', [emit.node('ReduceSum', [exponentials, last], { keepdims: 1 })]),
      highest,
    ]);
  },
  rmsNorm: ({ attributes: { epsilon } }, [x, weight], emit) =>
    emit.node('SimplifiedLayerNormalization', [x!, weight!], { axis: -1, epsilon: { float: epsilon }, stash_type: 1 }),
  rotary: ({ attributes: { inverse } }, [x, positions, cos, sin], emit) =>
    emit.node('RotaryEmbedding', [x!, positions!, cos!, inverse ? emit.node('Neg', [sin!]) : sin!], {}, MICROSOFT),
  cachedAttention: ({ attributes: { heads, keyValueHeads, scale } }, operands, emit) => {
    const [query, key, value, keyCache, valueCache, lastPositions, cos, sin] = operands as [string, ...string[]];
    const INT32 = 6;
    const last = emit.node('Cast', [lastPositions!], { to: INT32 });
    const longest = emit.node('ReduceMax', [last, emit.integers([0])], { keepdims: 0 });
    const total = emit.node('Add', [longest, emit.constant('int32', [1], [])]);
    return emit.nodeWithResults(
      3,
      'GroupQueryAttention',
      [query, key!, value!, keyCache!, valueCache!, last, total, cos!, sin!],
      { num_heads: heads, kv_num_heads: keyValueHeads, do_rotary: 1, scale: { float: scale } },
      MICROSOFT,
    );
  },
  part: ({ attributes: { index } }, parts) => parts[index]!,
};

function swapLastAxes(rank: number): number[] {
  return [...Array(rank - 2).keys(), rank - 1, rank - 2];
}

function bytesOf(type: OnnxType, values: readonly number[]): Uint8Array {
  switch (type) {
    case 'float32':
      return new Uint8Array(Float32Array.from(values).buffer);
    case 'int64':
      return new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
    case 'int32':
      return new Uint8Array(Int32Array.from(values).buffer);
    default:
      return Uint8Array.from(values);
  }
}

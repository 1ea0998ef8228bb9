// A slow, readable interpreter, which is the specification of every operator. Values are float64, so that finite differences are accurate.
import { applyRow, type OperatorName, type OperatorTable, type Tensor, topologicalOrder } from './graph.ts';
import { evaluateDimension, evaluateShape, formatShape, type Sizes } from './shape.ts';

/** A dense value in row-major order; integers and booleans are numbers too. */
export interface Value {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export function value(data: ArrayLike<number>, shape: readonly number[]): Value {
  if (data.length !== count(shape))
    throw new Error(`${formatShape(shape)} needs ${count(shape)} numbers, got ${data.length}`);
  return { shape, data: Float64Array.from(data) };
}

/** Runs a graph. Named sizes are read off the shapes of the inputs. */
export function interpret(outputs: readonly Tensor[], inputs: Readonly<Record<string, Value>>): Value[] {
  const order = topologicalOrder(outputs);
  const sizes = sizesOf(order, inputs);
  // An operator with several results has a list of values, from which `part` selects one.
  const values = new Map<Tensor, readonly Value[]>();
  for (const node of order) {
    const operands = node.inputs.map((operand) => values.get(operand)![0]!);
    const several = node.op === 'part' ? values.get(node.inputs[0]!)! : operands;
    const result = applyRow(kernels, node, several, { sizes, inputs });
    values.set(node, Array.isArray(result) ? result : [result as Value]);
  }
  return outputs.map((output) => values.get(output)![0]!);
}

interface Run {
  sizes: Sizes;
  inputs: Readonly<Record<string, Value>>;
}

type Kernel = OperatorTable<[operands: readonly Value[], run: Run], Value | Value[]>;

const kernels: Kernel = {
  input: ({ attributes: { name }, shape }, _, { inputs, sizes }) => {
    const given = inputs[name]!;
    const expected = evaluateShape(shape, sizes);
    if (String(given.shape) !== String(expected))
      throw new Error(`input ${name} has shape [${given.shape}], not [${expected}]`);
    return given;
  },
  constant: ({ attributes, shape }) => value(attributes.values, shape as number[]),
  stored: ({ attributes: { format }, shape }, [bytes], { sizes }) => {
    const to = evaluateShape(shape, sizes);
    const numbers = new Float32Array(count(to));
    format.decode(Uint8Array.from(bytes!.data), numbers);
    return value(numbers, to);
  },

  neg: (_, [x]) => map(x!, (a) => -a),
  exp: (_, [x]) => map(x!, Math.exp),
  log: (_, [x]) => map(x!, Math.log),
  sqrt: (_, [x]) => map(x!, Math.sqrt),
  reciprocal: (_, [x]) => map(x!, (a) => 1 / a),
  sigmoid: (_, [x]) => map(x!, (a) => 1 / (1 + Math.exp(-a))),
  tanh: (_, [x]) => map(x!, Math.tanh),
  abs: (_, [x]) => map(x!, Math.abs),
  not: (_, [x]) => map(x!, (a) => (a ? 0 : 1)),
  cast: ({ type }, [x]) => map(x!, type === 'float32' ? (a) => a : type === 'bool' ? (a) => (a ? 1 : 0) : Math.trunc),
  stopGradient: (_, [x]) => x!,
  checkpoint: (_, [x]) => x!,

  add: (_, [a, b]) => zip(a!, b!, (x, y) => x + y),
  sub: (_, [a, b]) => zip(a!, b!, (x, y) => x - y),
  mul: (_, [a, b]) => zip(a!, b!, (x, y) => x * y),
  div: ({ type }, [a, b]) => zip(a!, b!, type === 'int64' ? (x, y) => Math.trunc(x / y) : (x, y) => x / y),
  maximum: (_, [a, b]) => zip(a!, b!, Math.max),
  minimum: (_, [a, b]) => zip(a!, b!, Math.min),
  less: (_, [a, b]) => zip(a!, b!, (x, y) => Number(x < y)),
  greater: (_, [a, b]) => zip(a!, b!, (x, y) => Number(x > y)),
  equal: (_, [a, b]) => zip(a!, b!, (x, y) => Number(x === y)),
  and: (_, [a, b]) => zip(a!, b!, (x, y) => Number(x !== 0 && y !== 0)),
  where: ({ shape }, [condition, a, b], { sizes }) => {
    const to = evaluateShape(shape, sizes);
    const [c, x, y] = [broadcast(condition!, to), broadcast(a!, to), broadcast(b!, to)];
    return { shape: to, data: c.data.map((holds, i) => (holds ? x.data[i]! : y.data[i]!)) };
  },

  reduceSum: ({ attributes }, [x]) => reduce(x!, attributes, 0, (sum, a) => sum + a),
  reduceMean: ({ attributes }, [x]) => {
    const sum = reduce(x!, attributes, 0, (total, a) => total + a);
    return map(sum, (total) => (total * sum.data.length) / x!.data.length);
  },
  reduceMax: ({ attributes }, [x]) => reduce(x!, attributes, Number.NEGATIVE_INFINITY, Math.max),

  reshape: ({ shape }, [x], { sizes }) => value(x!.data, evaluateShape(shape, sizes)),
  transpose: ({ attributes: { permutation } }, [x]) => {
    const from = strides(x!.shape);
    const shape = permutation.map((axis) => x!.shape[axis]!);
    return fill(
      shape,
      (index) =>
        x!.data[
          dot(
            index,
            permutation.map((axis) => from[axis]!),
          )
        ]!,
    );
  },
  expand: ({ shape }, [x], { sizes }) => broadcast(x!, evaluateShape(shape, sizes)),
  concat: ({ attributes: { axis }, shape }, parts, { sizes }) =>
    fill(evaluateShape(shape, sizes), (index) => {
      let at = index[axis]!;
      for (const part of parts) {
        if (at < part.shape[axis]!) return part.data[dot(index.with(axis, at), strides(part.shape))]!;
        at -= part.shape[axis]!;
      }
      throw new Error('unreachable: the index lies beyond the parts');
    }),
  slice: ({ attributes: { axis, start }, shape }, [x], { sizes }) => {
    const first = evaluateDimension(start, sizes);
    const from = strides(x!.shape);
    return fill(evaluateShape(shape, sizes), (index) => x!.data[dot(index.with(axis, index[axis]! + first), from)]!);
  },
  gatherRows: (_, [table, ids]) => {
    const width = count(table!.shape.slice(1));
    const rows = Array.from(ids!.data, (id) =>
      table!.data.subarray(checkIndex(id, table!.shape[0]!) * width, (id + 1) * width),
    );
    const data = new Float64Array(rows.length * width);
    for (const [i, row] of rows.entries()) data.set(row, i * width);
    return value(data, [...ids!.shape, ...table!.shape.slice(1)]);
  },
  scatterAddRows: (_, [base, ids, updates]) => {
    const width = count(base!.shape.slice(1));
    const data = base!.data.slice();
    for (const [i, x] of updates!.data.entries()) {
      data[checkIndex(ids!.data[Math.floor(i / width)]!, base!.shape[0]!) * width + (i % width)]! += x;
    }
    return { shape: base!.shape, data };
  },
  gatherElements: (_, [x, ids]) => {
    const [from, to] = [x!.shape.at(-1)!, ids!.shape.at(-1)!];
    return {
      shape: ids!.shape,
      data: ids!.data.map((id, i) => x!.data[Math.floor(i / to) * from + checkIndex(id, from)]!),
    };
  },
  scatterAddElements: (_, [base, ids, updates]) => {
    const [to, from] = [base!.shape.at(-1)!, ids!.shape.at(-1)!];
    const data = base!.data.slice();
    for (const [i, x] of updates!.data.entries()) data[Math.floor(i / from) * to + checkIndex(ids!.data[i]!, to)]! += x;
    return { shape: base!.shape, data };
  },

  matmul: ({ attributes: { transposeA, transposeB, alpha }, shape }, [a, b, addend], { sizes }) => {
    const to = evaluateShape(shape, sizes);
    const inner = a!.shape.at(transposeA ? -2 : -1)!;
    const [stepA, stepB] = [operandStrides(a!, to.length, transposeA), operandStrides(b!, to.length, transposeB)];
    return fill(to, (index) => {
      const startA = dot(index.with(-1, 0), stepA);
      const startB = dot(index.with(-2, 0), stepB);
      let sum = 0;
      for (let k = 0; k < inner; k++)
        sum += a!.data[startA + k * stepA.at(-1)!]! * b!.data[startB + k * stepB.at(-2)!]!;
      return alpha * sum + (addend ? addend.data[dot(index, strides(to))]! : 0);
    });
  },
  quantizedMatmul: ({ attributes: { bits, block } }, [x, packed, scales]) => {
    const [rows, inner] = x!.shape as [number, number];
    const [columns, blocks] = scales!.shape as [number, number];
    const weight = (n: number, k: number) => {
      const place = n * blocks * block + k;
      const byte = packed!.data[Math.floor((place * bits) / 8)]!;
      const level = bits === 8 ? byte : place % 2 === 0 ? byte % 16 : Math.floor(byte / 16);
      return scales!.data[n * blocks + Math.floor(k / block)]! * (level - 2 ** (bits - 1));
    };
    return fill([rows, columns], ([m, n]) => {
      let sum = 0;
      for (let k = 0; k < inner; k++) sum += x!.data[m! * inner + k]! * weight(n!, k);
      return sum;
    });
  },
  softmax: (_, [x]) => {
    const total = logSumExp(x!);
    return zip(x!, total, (a, lse) => Math.exp(a - lse));
  },
  logSumExp: (_, [x]) => logSumExp(x!),
  rmsNorm: ({ attributes: { epsilon } }, [x, weight]) => {
    const square = map(x!, (a) => a * a);
    const mean = map(sumLast(square), (sum) => sum / x!.shape.at(-1)!);
    return zip(
      zip(x!, mean, (a, m) => a / Math.sqrt(m + epsilon)),
      weight!,
      (a, w) => a * w,
    );
  },
  rotary: ({ attributes: { heads, inverse } }, [x, positions, cos, sin]) =>
    rotate(x!, positions!, cos!, sin!, heads, inverse),
  cachedAttention: ({ attributes: { heads, keyValueHeads, scale } }, operands) => {
    const [query, key, value_, keyCache, valueCache, lastPositions, cos, sin] = operands as Value[];
    const [batch, steps] = query!.shape as [number, number, number];
    const longest = keyCache!.shape[2]!;
    const width = keyCache!.shape[3]!;
    const positionOf = (row: number, step: number) =>
      checkIndex(Math.max(0, lastPositions!.data[row]! - steps + 1) + step, longest);
    const positions = fill([batch, steps], ([row, step]) => positionOf(row!, step!));
    const rotatedQuery = rotate(query!, positions, cos!, sin!, heads, false);
    const rotatedKey = rotate(key!, positions, cos!, sin!, keyValueHeads, false);
    const keys = { shape: keyCache!.shape, data: keyCache!.data.slice() };
    const values = { shape: valueCache!.shape, data: valueCache!.data.slice() };
    const at = strides(keys.shape);
    for (let row = 0; row < batch; row++) {
      for (let step = 0; step < steps; step++) {
        for (let i = 0; i < keyValueHeads * width; i++) {
          const slot = dot([row, Math.floor(i / width), positionOf(row, step), i % width], at);
          const source = (row * steps + step) * keyValueHeads * width + i;
          keys.data[slot] = rotatedKey.data[source]!;
          values.data[slot] = value_!.data[source]!;
        }
      }
    }
    const attended = fill(query!.shape, ([row, step, i]) => {
      const head = Math.floor(i! / width);
      const shared = Math.floor((head * keyValueHeads) / heads);
      const scores = Array.from({ length: positionOf(row!, step!) + 1 }, (_, position) => {
        let score = 0;
        for (let d = 0; d < width; d++) {
          score +=
            rotatedQuery.data[(row! * steps + step!) * heads * width + head * width + d]! *
            keys.data[dot([row!, shared, position, d], at)]!;
        }
        return score * scale;
      });
      return softened(scores).reduce(
        (sum, weight, position) => sum + weight * values.data[dot([row!, shared, position, i! % width], at)]!,
        0,
      );
    });
    return [attended, keys, values];
  },
  segmentAttention: ({ attributes: { scale, ...sharing } }, [query, key, value_, segments]) => {
    const output = { shape: query!.shape, data: new Float64Array(query!.data.length) };
    for (const { at, keys } of attentionRows(query!, segments!, sharing)) {
      const weights = attentionWeights(query!, key!, at, keys, scale);
      for (const [i, key] of keys.entries())
        for (let d = 0; d < key.width; d++) output.data[at + d]! += weights[i]! * value_!.data[key.at + d]!;
    }
    return output;
  },
  segmentAttentionGradient: ({ attributes: { scale, ...sharing } }, operands) => {
    const [query, key, value_, segments, gradient] = operands as [Value, Value, Value, Value, Value];
    const [dq, dk, dv] = [query, key, value_].map(({ shape, data }) => ({
      shape,
      data: new Float64Array(data.length),
    }));
    for (const { at, keys } of attentionRows(query, segments, sharing)) {
      const weights = attentionWeights(query, key, at, keys, scale);
      const along = keys.map((key) => inner(gradient, at, value_, key));
      const mean = along.reduce((sum, a, i) => sum + a * weights[i]!, 0);
      for (const [i, key_] of keys.entries()) {
        const score = scale * weights[i]! * (along[i]! - mean);
        for (let d = 0; d < key_.width; d++) {
          dq!.data[at + d]! += score * key.data[key_.at + d]!;
          dk!.data[key_.at + d]! += score * query.data[at + d]!;
          dv!.data[key_.at + d]! += weights[i]! * gradient.data[at + d]!;
        }
      }
    }
    return [dq!, dk!, dv!];
  },
  tokenScores: ({ attributes: { alpha } }, [hidden, weight, targets]) => {
    const scores = Array.from(targets!.data, (target, token) => {
      const logits = logitsOf(hidden!, weight!, token, alpha);
      const total = logSumExp(logits).data[0]!;
      const entropy = total - logits.data.reduce((sum, logit) => sum + Math.exp(logit - total) * logit, 0);
      return [logits.data[checkIndex(target, logits.data.length)]! - total, entropy, total];
    });
    return value(scores.flat(), [scores.length, 3]);
  },
  tokenScoresGradient: ({ attributes: { alpha } }, [hidden, weight, targets, scores, gradient]) => {
    const size = hidden!.shape[1]!;
    const result = { shape: hidden!.shape, data: new Float64Array(hidden!.data.length) };
    for (const [token, target] of targets!.data.entries()) {
      const [, entropy, total] = scores!.data.subarray(3 * token, 3 * token + 3) as unknown as [number, number, number];
      const [ofLogprob, ofEntropy, ofTotal] = gradient!.data.subarray(3 * token, 3 * token + 3) as unknown as [
        number,
        number,
        number,
      ];
      for (const [id, logit] of logitsOf(hidden!, weight!, token, alpha).data.entries()) {
        const logprob = logit - total;
        const ofLogit =
          Math.exp(logprob) * (ofTotal - ofLogprob - ofEntropy * (logprob + entropy)) + (id === target ? ofLogprob : 0);
        for (let d = 0; d < size; d++) result.data[token * size + d]! += alpha * ofLogit * weight!.data[id * size + d]!;
      }
    }
    return result;
  },
  part: ({ attributes: { index } }, parts) => parts[index]!,
};

/** The names of all operators, at run time. */
export const operatorNames = Object.keys(kernels) as readonly OperatorName[];

function sizesOf(order: readonly Tensor[], inputs: Readonly<Record<string, Value>>): Sizes {
  const sizes: Record<string, number> = {};
  for (const node of order) {
    if (node.op !== 'input') continue;
    const given = inputs[node.attributes.name];
    if (!given) throw new Error(`input ${node.attributes.name} is missing`);
    for (const [axis, dimension] of node.shape.entries()) {
      if (typeof dimension === 'number' || dimension.terms.size !== 1) continue;
      const [[name, coefficient]] = [...dimension.terms] as [[string, number]];
      if (coefficient === 1 && !name.includes('*')) sizes[name] = given.shape[axis]!;
    }
  }
  return sizes;
}

function count(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

function strides(shape: readonly number[]): number[] {
  return shape.map((_, axis) => count(shape.slice(axis + 1)));
}

function dot(index: readonly number[], steps: readonly number[]): number {
  return index.reduce((sum, i, axis) => sum + i * steps[axis]!, 0);
}

/** A value of a shape, computed from each element's index. */
function fill(shape: readonly number[], element: (index: readonly number[]) => number): Value {
  const data = new Float64Array(count(shape));
  const index = shape.map(() => 0);
  for (let i = 0; i < data.length; i++) {
    data[i] = element(index);
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis]! === shape[axis]!; axis--) index[axis] = 0;
  }
  return { shape, data };
}

function map(x: Value, element: (a: number) => number): Value {
  return { shape: x.shape, data: x.data.map((a) => element(a)) };
}

function zip(a: Value, b: Value, element: (x: number, y: number) => number): Value {
  const rank = Math.max(a.shape.length, b.shape.length);
  const length = (x: Value, axis: number) => x.shape[axis - rank + x.shape.length] ?? 1;
  const shape = Array.from({ length: rank }, (_, axis) => (length(a, axis) === 1 ? length(b, axis) : length(a, axis)));
  const [left, right] = [broadcast(a, shape), broadcast(b, shape)];
  return { shape, data: left.data.map((x, i) => element(x, right.data[i]!)) };
}

function broadcast(x: Value, shape: readonly number[]): Value {
  if (String(x.shape) === String(shape)) return x;
  const padded = [...Array(shape.length - x.shape.length).fill(1), ...x.shape];
  const steps = strides(padded).map((step, axis) => (padded[axis] === 1 ? 0 : step));
  return fill(shape, (index) => x.data[dot(index, steps)]!);
}

function reduce(
  x: Value,
  { axes, keepDimensions }: { axes: readonly number[]; keepDimensions: boolean },
  start: number,
  step: (sum: number, a: number) => number,
): Value {
  const kept = x.shape.map((length, axis) => (axes.includes(axis) ? 1 : length));
  const data = new Float64Array(count(kept)).fill(start);
  const from = strides(x.shape);
  const to = strides(kept).map((stride, axis) => (axes.includes(axis) ? 0 : stride));
  fill(x.shape, (index) => {
    const slot = dot(index, to);
    data[slot] = step(data[slot]!, x.data[dot(index, from)]!);
    return 0;
  });
  return { shape: keepDimensions ? kept : x.shape.filter((_, axis) => !axes.includes(axis)), data };
}

function sumLast(x: Value): Value {
  return reduce(x, { axes: [x.shape.length - 1], keepDimensions: true }, 0, (sum, a) => sum + a);
}

function logSumExp(x: Value): Value {
  const highest = reduce(x, { axes: [x.shape.length - 1], keepDimensions: true }, Number.NEGATIVE_INFINITY, Math.max);
  const total = sumLast(zip(x, highest, (a, most) => Math.exp(a - most)));
  return zip(total, highest, (sum, most) => Math.log(sum) + most);
}

/** Strides of a matmul operand with respect to the index of the result: 0 along broadcast batch axes. */
function operandStrides(x: Value, rank: number, transposed: boolean): number[] {
  const padded = [...Array(rank - x.shape.length).fill(1), ...x.shape];
  const steps = strides(padded).map((step, axis) => (axis < rank - 2 && padded[axis] === 1 ? 0 : step));
  return transposed ? [...steps.slice(0, -2), steps.at(-1)!, steps.at(-2)!] : steps;
}

function rotate(x: Value, positions: Value, cos: Value, sin: Value, heads: number, inverse: boolean): Value {
  const width = x.shape[2]! / heads;
  const half = width / 2;
  return fill(x.shape, ([row, step, i]) => {
    const start = (row! * x.shape[1]! + step!) * x.shape[2]! + i! - (i! % width);
    const lane = i! % half;
    const at = positions.data[row! * x.shape[1]! + step!]! * half + lane;
    const sine = inverse ? -sin.data[at]! : sin.data[at]!;
    const [first, second] = [x.data[start + lane]!, x.data[start + half + lane]!];
    return i! % width < half ? first * cos.data[at]! - second * sine : second * cos.data[at]! + first * sine;
  });
}

function logitsOf(hidden: Value, weight: Value, token: number, alpha: number): Value {
  const [vocabulary, size] = weight.shape as [number, number];
  return fill([vocabulary], ([id]) => {
    let sum = 0;
    for (let d = 0; d < size; d++) sum += hidden.data[token * size + d]! * weight.data[id! * size + d]!;
    return alpha * sum;
  });
}

/** The key-value head of a row: where it begins in keys and values, and its size. */
interface Key {
  readonly at: number;
  readonly width: number;
}

/** Each row and query head in segments: where it begins in the query, and the keys that it attends to. */
function attentionRows(
  query: Value,
  segments: Value,
  { heads, keyValueHeads }: { readonly heads: number; readonly keyValueHeads: number },
): { at: number; keys: Key[] }[] {
  const width = query.shape[1]! / heads;
  const segment = (index: number) => [...segments.data.subarray(3 * index, 3 * index + 3)] as [number, number, number];
  const rowsOf = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);
  return rowsOf(0, segments.shape[0]!).flatMap((index) => {
    const [first, count, prefix] = segment(index);
    const before = prefix < 0 ? [] : rowsOf(segment(prefix)[0], segment(prefix)[1]);
    return rowsOf(first, count).flatMap((row) =>
      rowsOf(0, heads).map((head) => {
        const shared = Math.floor((head * keyValueHeads) / heads);
        const keys = [...before, ...rowsOf(first, row + 1 - first)];
        return {
          at: (row * heads + head) * width,
          keys: keys.map((key) => ({ at: (key * keyValueHeads + shared) * width, width })),
        };
      }),
    );
  });
}

function attentionWeights(query: Value, key: Value, at: number, keys: readonly Key[], scale: number): number[] {
  return softened(keys.map((other) => scale * inner(query, at, key, other)));
}

function softened(scores: readonly number[]): number[] {
  const highest = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

function inner(a: Value, at: number, b: Value, { at: other, width }: Key): number {
  let sum = 0;
  for (let d = 0; d < width; d++) sum += a.data[at + d]! * b.data[other + d]!;
  return sum;
}

function checkIndex(id: number, size: number): number {
  if (!Number.isInteger(id) || id < 0 || id >= size) throw new Error(`index ${id} lies outside 0 … ${size - 1}`);
  return id;
}

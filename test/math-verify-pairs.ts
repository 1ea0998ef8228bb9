// Pairs of a gold answer and a completion for comparing math_verify with the Python package: right answers in other notations and near misses.
import { type RandomStream, randomStream, streamSeed } from '../src/common/random.ts';

export interface MathPair {
  readonly kind: string;
  readonly gold: string;
  readonly completion: string;
}

type Draw = (random: RandomStream) => readonly [gold: string, answer: string];

const wrappers: readonly ((answer: string) => string)[] = [
  (answer) => `\\boxed{${answer}}`,
  (answer) => `We compute step by step.\nThe final answer is $\\boxed{${answer}}$.`,
  (answer) => `$${answer}$`,
  (answer) => `After some work we get that the answer is $${answer}$.`,
  (answer) => `First $7$ and then \\(8\\).\n\n\\[\\boxed{${answer}}\\]`,
  (answer) => `Thus the result is \\(${answer}\\)`,
];

function pick<T>(random: RandomStream, items: readonly T[]): T {
  return items[random.integer(items.length)]!;
}

function between(random: RandomStream, low: number, high: number): number {
  return low + random.integer(high - low + 1);
}

function nonzero(random: RandomStream, size: number): number {
  return between(random, 1, size) * pick(random, [1, -1]);
}

function grouped(value: number): string {
  return value.toLocaleString('en-US');
}

/** A value, or, as often, one that is near. */
function orNear(random: RandomStream, value: number, step = 1): number {
  return random.uniform() < 0.5 ? value : value + pick(random, [-1, 1, 2, 10]) * step;
}

const integers: Draw = (random) => {
  const value = nonzero(random, pick(random, [20, 999, 99_999, 9_999_999]));
  const answer = pick(random, [orNear(random, value), value, -value]);
  return [String(value), pick(random, [String, grouped, (x: number) => `${x}.0`])(answer)];
};

const decimals: Draw = (random) => {
  const places = between(random, 1, 4);
  const scale = 10 ** places;
  const value = nonzero(random, 99_999);
  const answer = orNear(random, value);
  const text = (answer / scale).toFixed(places);
  return [
    (value / scale).toFixed(places),
    pick(random, [text, `${text}0`, text.replace('0.', '.'), `\\frac{${answer}}{${scale}}`]),
  ];
};

const fractions: Draw = (random) => {
  const [top, bottom] = [nonzero(random, 40), between(random, 2, 30)];
  const factor = between(random, 2, 5);
  const wrong = orNear(random, top);
  const gold = pick(random, [`\\frac{${top}}{${bottom}}`, `\\dfrac{${top}}{${bottom}}`, `${top}/${bottom}`]);
  const answer = pick(random, [
    `\\frac{${wrong * factor}}{${bottom * factor}}`,
    `\\dfrac{${wrong}}{${bottom}}`,
    `\\tfrac{${wrong}}{${bottom}}`,
    `${wrong}/${bottom}`,
    `-\\frac{${-wrong}}{${bottom}}`,
    `${(wrong / bottom).toFixed(between(random, 2, 8))}`,
    `\\frac{${bottom}}{${top}}`,
  ]);
  return [gold, answer];
};

const mixedNumbers: Draw = (random) => {
  const [whole, bottom] = [between(random, 1, 12), between(random, 2, 9)];
  const top = between(random, 1, bottom - 1);
  const value = orNear(random, whole * bottom + top);
  return [
    `${whole}\\frac{${top}}{${bottom}}`,
    pick(random, [`\\frac{${value}}{${bottom}}`, `${whole}\\dfrac{${top}}{${bottom}}`]),
  ];
};

const roots: Draw = (random) => {
  const [factor, radicand] = [between(random, 2, 9), pick(random, [2, 3, 5, 6, 7, 10, 11])];
  const gold = `${factor}\\sqrt{${radicand}}`;
  const off = orNear(random, factor);
  const value = off * Math.sqrt(radicand);
  return [
    gold,
    pick(random, [
      `\\sqrt{${off * off * radicand}}`,
      `\\sqrt{${radicand}}\\cdot${off}`,
      `\\frac{${off * radicand}}{\\sqrt{${radicand}}}`,
      `${off}${radicand}^{1/2}`.replace(/(\d)(\d+\^)/, '$1\\cdot $2'),
      value.toFixed(between(random, 2, 8)),
      `${off} \\sqrt ${radicand}`,
      `\\sqrt[3]{${off ** 3}}\\sqrt{${radicand}}`,
    ]),
  ];
};

const percent: Draw = (random) => {
  const value = between(random, 1, 150);
  const answer = orNear(random, value);
  return [
    pick(random, [`${value}\\%`, `${value}%`, String(value)]),
    pick(random, [
      `${answer}\\%`,
      `${answer}`,
      `${answer} \\%`,
      `${(answer / 100).toFixed(2)}`,
      `\\frac{${answer}}{100}`,
    ]),
  ];
};

const units: Draw = (random) => {
  const value = between(random, 2, 400);
  const answer = orNear(random, value);
  const unit = pick(random, [
    'cm',
    'km',
    'meters',
    'dollars',
    'apples',
    'hours',
    'kg',
    'inches',
    'square feet',
    'm',
    'g',
    'mL',
  ]);
  return [
    pick(random, [String(value), `${value}\\text{ ${unit}}`, `${value}\\ \\mathrm{${unit.replace(' ', '\\ ')}}`]),
    pick(random, [
      `${answer}\\text{ ${unit}}`,
      `${answer}\\,\\text{${unit}}`,
      `${answer} \\text{ cm}^2`,
      `\\$${answer}`,
      String(answer),
      `${answer}^\\circ`,
      `${answer}\\ \\text{ ${unit}}`,
    ]),
  ];
};

function distinct(random: RandomStream, count: number): number[] {
  const values = new Set<number>();
  while (values.size < count) values.add(between(random, -20, 20));
  return [...values];
}

const sets: Draw = (random) => {
  const items = distinct(random, between(random, 2, 4));
  const answer = [...items].reverse();
  if (random.uniform() < 0.4) answer[0] = answer[0]! + pick(random, [1, -1, 30]);
  else if (random.uniform() < 0.2) answer.pop();
  const fraction = (item: number) => pick(random, [String(item), `\\frac{${2 * item}}{2}`]);
  return [
    pick(random, [`\\{${items.join(', ')}\\}`, items.join(', ')]),
    pick(random, [
      `\\{${answer.join(', ')}\\}`,
      `\\left\\{${answer.join(',')}\\right\\}`,
      answer.join(', '),
      `\\{${answer.map(fraction).join(', ')}\\}`,
      answer.join(' \\text{ and } '),
    ]),
  ];
};

const intervals: Draw = (random) => {
  const [low, high] = distinct(random, 2).sort((a, b) => a - b) as [number, number];
  const open = pick(random, ['(', '[']);
  const close = pick(random, [')', ']']);
  const [start, end] = [pick(random, [String(low), '-\\infty']), pick(random, [String(high), '\\infty'])];
  const gold = `${start.startsWith('-\\') ? '(' : open}${start}, ${end}${end.startsWith('\\') ? ')' : close}`;
  const wrong = pick(random, [
    gold.replace(String(high), String(high + 1)),
    gold.replace('[', '(').replace(']', ')'),
    gold.replace(String(low), String(low - 1)),
  ]);
  const answer = random.uniform() < 0.5 ? gold : wrong;
  const second = `[${high + 3}, ${high + 5})`;
  if (random.uniform() < 0.3) {
    return [`${gold} \\cup ${second}`, random.uniform() < 0.5 ? `${second}\\cup ${answer}` : `${answer}\\cup${second}`];
  }
  return [
    gold,
    pick(random, [answer, answer.replace(', ', ','), answer.replace(/^([([])(.*)([)\]])$/, '\\left$1$2\\right$3')]),
  ];
};

const tuples: Draw = (random) => {
  const items = distinct(random, between(random, 2, 4));
  const answer = [...items];
  const change = random.uniform();
  if (change < 0.3) answer[between(random, 0, answer.length - 1)]! += 1;
  else if (change < 0.5) answer.reverse();
  const text = (values: readonly number[]) => `(${values.join(pick(random, [', ', ',']))})`;
  const fractions = `(${answer.map((item) => `\\frac{${3 * item}}{3}`).join(', ')})`;
  return [text(items), pick(random, [text(answer), `\\left${text(answer).slice(0, -1)}\\right)`, fractions])];
};

const equations: Draw = (random) => {
  const name = pick(random, ['x', 'y', 'n', 'k', 'a']);
  const value = nonzero(random, 60);
  const wrong = orNear(random, value);
  const [slope, offset] = [between(random, 2, 9), between(random, 1, 20)];
  return pick(random, [
    [`${value}`, `${name} = ${wrong}`],
    [`${name} = ${value}`, `${wrong}`],
    [`${name}=${value}`, `${name} = ${wrong}`],
    [`${name}=${value}`, `${pick(random, ['x', 'y', 'm'])} = ${wrong}`],
    [`y = ${slope}x + ${offset}`, `y = ${offset} + ${orNear(random, slope)}x`],
    [`y = ${slope}x + ${offset}`, `${orNear(random, slope)}x + ${offset}`],
    [`${slope}x + y = ${offset}`, `y + ${slope}x = ${orNear(random, offset)}`],
    [`y = ${slope}x - ${offset}`, `y - ${slope}x + ${orNear(random, offset)} = 0`],
    [`x^2 + y^2 = ${offset}`, `y^2 + x^2 = ${orNear(random, offset)}`],
  ] as const);
};

const inequalities: Draw = (random) => {
  const value = nonzero(random, 30);
  const wrong = orNear(random, value);
  const [sign, flipped] = pick(random, [
    ['<', '>'],
    ['>', '<'],
    ['\\le', '\\ge'],
    ['\\geq', '\\leq'],
  ] as const);
  return pick(random, [
    [`x ${sign} ${value}`, `x ${pick(random, [sign, sign, flipped])} ${wrong}`],
    [`x ${sign} ${value}`, `${wrong} ${flipped} x`],
    [`x < ${value}`, `(-\\infty, ${wrong})`],
    [`x \\ge ${value}`, `[${wrong}, \\infty)`],
    [`${value} < x < ${value + 5}`, `(${wrong}, ${value + 5})`],
    [`${value} \\le x \\le ${value + 5}`, `${wrong} \\leq x \\leq ${value + 5}`],
  ] as const);
};

const expressions: Draw = (random) => {
  const [a, b] = [between(random, 2, 9), between(random, 1, 9)];
  const wrong = orNear(random, b);
  return pick(random, [
    [`(x+${a})^2`, `x^2 + ${2 * a}x + ${orNear(random, a * a)}`],
    [`(x+${a})(x-${b})`, `(x-${wrong})(x+${a})`],
    [`x^2-${a * a}`, `(x-${a})(x+${orNear(random, a)})`],
    [`${a}x+${b}`, `${wrong}+${a}x`],
    [`\\frac{x}{${a}}`, `\\frac{1}{${orNear(random, a)}}x`],
    [`${a}\\pi`, `\\pi\\cdot ${orNear(random, a)}`],
    [`\\frac{${a}\\pi}{${b}}`, `\\frac{${a}}{${wrong}}\\pi`],
    [`\\sin^2 x`, pick(random, ['1-\\cos^2 x', '1-\\cos^2 y', '(\\sin x)^2', '\\sin(x^2)'])],
    [`2^{${a}}`, `${2 ** a + pick(random, [0, 0, 1])}`],
    [`${a}^{x+1}`, `${orNear(random, a)}\\cdot ${a}^x`],
    [`\\frac{x^2-1}{x-1}`, pick(random, ['x+1', 'x-1'])],
    [`${a}+${b}i`, `${wrong}i+${a}`],
    [`\\sqrt{x^2+${a}}`, `(x^2+${orNear(random, a)})^{1/2}`],
    [`\\ln(${a}) + \\ln(${b})`, `\\ln(${orNear(random, a * b)})`],
    [`\\binom{${a + 2}}{2}`, `${((a + 2) * (a + 1)) / 2 + pick(random, [0, 0, 1])}`],
    [`${b}!`, `${Array.from({ length: wrong }, (_, i) => i + 1).reduce((product, i) => product * i, 1)}`],
  ] as const);
};

const words = ['Tuesday', 'even', 'odd', 'Monday', 'yes', 'no', 'true', 'false', 'parallel', 'Evelyn', 'ellipse'];

const text: Draw = (random) => {
  const word = pick(random, words);
  const answer = random.uniform() < 0.5 ? word : pick(random, words);
  return [
    `\\text{${word}}`,
    pick(random, [
      `\\text{${answer}}`,
      `\\text{${answer.toLowerCase()}}`,
      `\\textbf{${answer}}`,
      `\\mathrm{${answer}}`,
      answer,
    ]),
  ];
};

const matrices: Draw = (random) => {
  const [a, b, c, d] = distinct(random, 4) as [number, number, number, number];
  const wrong = orNear(random, d);
  return [
    `\\begin{pmatrix} ${a} & ${b} \\\\ ${c} & ${d} \\end{pmatrix}`,
    pick(random, [
      `\\begin{bmatrix} ${a} & ${b} \\\\ ${c} & ${wrong} \\end{bmatrix}`,
      `\\begin{pmatrix}${a}&${b}\\\\${c}&\\frac{${2 * wrong}}{2}\\end{pmatrix}`,
      `\\begin{pmatrix} ${a} & ${c} \\\\ ${b} & ${wrong} \\end{pmatrix}`,
    ]),
  ];
};

/** Without LaTeX, as small models answer. */
const plain: Draw = (random) => {
  const value = between(random, 2, 50_000);
  const answer = orNear(random, value);
  const shown = pick(random, [
    String,
    grouped,
    (x: number) => `$${x}`,
    (x: number) => `${x}.00`,
    (x: number) => `${x / 2} * 2`,
  ])(answer);
  return [
    String(value),
    pick(random, [
      `We have 3 boxes of 5.\nThe answer is ${shown}.`,
      `Adding up, 12 + 7 = 19, so in the end ${shown}`,
      `Answer: ${shown}`,
      `The final answer is: ${shown}.`,
      `so she has ${shown} apples`,
      shown,
    ]),
  ];
};

const kinds: Readonly<Record<string, Draw>> = {
  integers,
  decimals,
  fractions,
  'mixed numbers': mixedNumbers,
  roots,
  percent,
  units,
  sets,
  intervals,
  tuples,
  equations,
  inequalities,
  expressions,
  text,
  matrices,
  plain,
};

/** `perKind` different pairs of each of sixteen kinds, the same in every call. */
export function mathVerifyPairs(perKind: number): MathPair[] {
  return Object.entries(kinds).flatMap(([kind, draw]) => {
    const random = randomStream(streamSeed(7, kind));
    const pairs = new Map<string, MathPair>();
    while (pairs.size < perKind) {
      const [gold, answer] = draw(random);
      const pair = { kind, gold: `$${gold}$`, completion: kind === 'plain' ? answer : pick(random, wrappers)(answer) };
      pairs.set(JSON.stringify(pair), pair);
    }
    return [...pairs.values()];
  });
}

// Finds the code in a completion: among its fenced blocks, those that define what is tested, with what they need from others.
import type { CodeLanguage } from './code-harness.ts';

interface Block {
  /** The first word after the fence in lower case, such as `python`. */
  readonly label: string;
  readonly text: string;
}

const labels: Readonly<Record<CodeLanguage, ReadonlySet<string>>> = {
  python: new Set(['python', 'python3', 'python2', 'py', 'py3', 'cpython', 'ipython', 'ipython3', 'sage', 'gyp']),
  javascript: new Set([
    'javascript',
    'js',
    'node',
    'nodejs',
    'mjs',
    'cjs',
    'jsx',
    'es6',
    'ecmascript',
    'typescript',
    'ts',
  ]),
  typescript: new Set(['typescript', 'ts', 'tsx', 'mts', 'cts', 'javascript', 'js']),
};

/** Labels that say nothing about the language. */
const plain = new Set(['', 'code', 'text', 'txt', 'plaintext', 'plain', 'answer', 'solution']);

/**
 * The code of a completion. Without fences it is all of it, after the thoughts. Of several blocks, it is the last that defines what is tested, as far as blocks of
 * the language do, or else the last one; before it come blocks that define names it uses. Blocks of other languages are left out.
 * @param tested texts whose names may be defined by the code
 */
export function codeOf(completion: string, language: CodeLanguage, tested: readonly string[]): string {
  const spoken = completion.slice(completion.lastIndexOf('</think>') + 1 && completion.lastIndexOf('</think>') + 8);
  const all = blocksOf(spoken);
  if (all.length === 0) return spoken;
  const labelled = all.filter(({ label }) => labels[language].has(label));
  const possible = all.filter(({ label }) => labels[language].has(label) || plain.has(label));
  const wanted = new Set(tested.flatMap((text) => [...namesIn(text)]));
  const defining = definingBlocks(possible, language, wanted);
  if (defining !== undefined) return defining;
  // Nothing is known to be tested, or nothing defines it. What has no label may be output.
  const blocks = labelled.length > 0 ? labelled : possible;
  return blocks.length > 0 ? withNeeded(blocks, language, [blocks.length - 1]) : '';
}

function definingBlocks(
  blocks: readonly Block[],
  language: CodeLanguage,
  wanted: ReadonlySet<string>,
): string | undefined {
  const defined = blocks.map(({ text }) => definedIn(text, language));
  const tested = [...wanted].filter((name) => defined.some((names) => names.has(name)));
  if (tested.length === 0) return undefined;
  const whole = defined.findLastIndex((names) => tested.every((name) => names.has(name)));
  const chosen = whole >= 0 ? [whole] : tested.map((name) => defined.findLastIndex((names) => names.has(name)));
  return withNeeded(blocks, language, chosen);
}

/** Joins the blocks chosen and those that define names which they use and do not define, in the order of the completion. */
function withNeeded(blocks: readonly Block[], language: CodeLanguage, chosen: readonly number[]): string {
  const defined = blocks.map(({ text }) => definedIn(text, language));
  const taken = new Set(chosen);
  // Grows while it is walked.
  for (const i of taken) {
    for (const name of namesIn(blocks[i]!.text)) {
      if ([...taken].some((other) => defined[other]!.has(name))) continue;
      const before = defined.slice(0, i).findLastIndex((names) => names.has(name));
      const needed = before >= 0 ? before : defined.findIndex((names) => names.has(name));
      if (needed >= 0) taken.add(needed);
    }
  }
  return [...taken]
    .sort((a, b) => a - b)
    .map((i) => blocks[i]!.text)
    .join('\n');
}

const namesIn = (text: string): Set<string> => new Set(text.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? []);

const definitions: Readonly<Record<'python' | 'javascript', RegExp>> = {
  // At the beginning of a line, since what is indented belongs to something else.
  python:
    /^(?:(?:async[ \t]+)?def[ \t]+(\w+)|class[ \t]+(\w+)|(\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*(?::[^=\n]+)?=(?!=)|(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+([^#\n(]+|\([^)]*\)))/gmu,
  javascript:
    /^[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:(?:async[ \t]+)?function\b[ \t]*\*?[ \t]*([\w$]+)|(?:abstract[ \t]+)?class[ \t]+([\w$]+)|(?:const|let|var)[ \t]+([\w$]+|[{[][^}\]=]*[}\]])|import[ \t]+([^'"\n]+?)[ \t]+from\b|(?:module\.)?exports\.([\w$]+)[ \t]*=)/gmu,
};

function definedIn(text: string, language: CodeLanguage): Set<string> {
  const found = text.matchAll(definitions[language === 'python' ? 'python' : 'javascript']);
  return new Set([...found].flatMap(([, ...groups]) => groups.flatMap((names) => [...namesIn(names ?? '')])));
}

/**
 * The fenced blocks of a text, as in Markdown: three or more backticks or tildes, indented or not, closed by as many or by the end of the text. As models write them,
 * a fence may also open after other words on its line and close at the end of a line of code, and a block that opens ends the one before.
 */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split(/\r\n|\n|\r/);
  for (let i = 0; i < lines.length; i++) {
    const opened = openingOf(lines[i]!);
    if (!opened) continue;
    const { content, next } =
      contentOf(lines, i + 1, opened.fence, true) ?? contentOf(lines, i + 1, opened.fence, false)!;
    blocks.push({ label: opened.label, text: withoutIndent(content, opened.before) });
    i = next - 1;
  }
  return blocks;
}

interface Fence {
  readonly before: string;
  readonly fence: string;
  readonly info: string;
}

/** The last fence of a line, found without a regular expression, which would take long on a line of tildes. */
function fenceIn(line: string): Fence | undefined {
  const last = Math.max(line.lastIndexOf('```'), line.lastIndexOf('~~~'));
  if (last < 0) return undefined;
  let from = last;
  while (line[from - 1] === line[last]) from--;
  return { before: line.slice(0, from), fence: line.slice(from, last + 3), info: line.slice(last + 3) };
}

function openingOf(
  line: string,
): { readonly before: string; readonly fence: string; readonly label: string } | undefined {
  const { before, fence, info } = fenceIn(line) ?? {};
  if (fence === undefined || info!.includes('`') || before!.includes('```')) return undefined;
  const isMarkup = /^[\s>]*(?:[-*+]|\d+[.)])?\s*$/.test(before!);
  if (!isMarkup && (fence[0] === '~' || !/^[\w+#.-]*\s*$/.test(info!))) return undefined;
  return { before: before!, fence, label: /[\p{L}\p{N}#+]+/u.exec(info!)?.[0].toLowerCase() ?? '' };
}

/**
 * The lines of a block, and the first line after it.
 * @param quotes whether fences in strings of several lines, such as examples in a docstring, are code; then `undefined` if such a string does not end
 */
function contentOf(
  lines: readonly string[],
  from: number,
  fence: string,
  quotes: boolean,
): { content: string[]; next: number } | undefined {
  let isQuoted = false;
  for (let line = from; line < lines.length; line++) {
    const found = fenceIn(lines[line]!);
    const rest = found?.before ?? lines[line]!;
    if (quotes && (rest.match(/"""|'''/g)?.length ?? 0) % 2 === 1) isQuoted = !isQuoted;
    if (isQuoted || !found || found.fence[0] !== fence[0] || found.fence.length < fence.length) continue;
    const info = found.info.trim();
    const content = lines.slice(from, line);
    if (/^[\s>]*$/.test(rest)) return { content, next: info === '' ? line + 1 : line };
    if (info === '' && fence[0] === '`') return { content: [...content, rest], next: line + 1 };
  }
  return isQuoted ? undefined : { content: lines.slice(from), next: lines.length };
}

/** Takes away the marks of the fence's quotation, and the indent that all lines have in common. */
function withoutIndent(lines: readonly string[], before: string): string {
  const prefix = /^\s*>[\s>]*/.exec(before)?.[0] ?? '';
  const own = lines.map((line) => {
    if (line.startsWith(prefix)) return line.slice(prefix.length);
    return line.startsWith(prefix.trimEnd()) ? line.slice(prefix.trimEnd().length) : line;
  });
  const indents = own.filter((line) => line.trim() !== '').map((line) => /^[ \t]*/.exec(line)![0].length);
  const common = Math.min(...indents.slice(0, 1), ...indents);
  return own.map((line) => line.slice(Number.isFinite(common) ? common : 0)).join('\n');
}

// Writes the table of docs/models.md: how far random models of each family lie from transformers and PyTorch, in each format. Needs python/.venv.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeParityModels, measureParity } from '../test/parity.ts';

const document = join(import.meta.dirname, '..', 'docs', 'models.md');
const seeds = [0, 1];
const families = [
  'llama',
  'mistral',
  'qwen2',
  'qwen3',
  'gemma3_text',
  'gemma4_text',
  'smollm3',
  'olmo2',
  'olmo3',
  'granite',
  'granitemoehybrid',
  'ministral3',
  'phi3',
  'lfm2',
  'qwen3_5_text',
];

const worst = new Map<string, number>();
for (const seed of seeds) {
  const root = mkdtempSync(join(tmpdir(), 'gradus-parity-'));
  const folder = join(root, 'models');
  for (const name of makeParityModels(seed, folder).filter((made) => !made.endsWith('-vision'))) {
    const parity = await measureParity(join(folder, name));
    const model = name.replace(/-wide$/, '-float32');
    const difference = Math.max(...Object.values(parity), worst.get(model) ?? 0);
    worst.set(model, difference);
    console.log(seed, name, difference.toExponential(1));
  }
  rmSync(root, { recursive: true });
}

const formats = [...new Set([...worst.keys()].map((name) => name.slice(name.indexOf('-') + 1)))];
const cell = (family: string, format: string) => worst.get(`${family}-${format}`)?.toExponential(1) ?? '–';
const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
const isFolder = (format: string) => /float/.test(format);
const rows = formats
  .sort((a, b) => Number(isFolder(b)) - Number(isFolder(a)) || a.localeCompare(b, 'en', { numeric: true }))
  .map((format) =>
    row([isFolder(format) ? `${format} folder` : `GGUF ${format}`, ...families.map((family) => cell(family, format))]),
  );
const table = [
  row(['weights', ...families.map((name) => `\`${name}\``)]),
  row(Array(1 + families.length).fill('---')),
  ...rows,
].join('\n');
const text = readFileSync(document, 'utf8');
writeFileSync(document, text.replace(/(?<=<!-- parity -->\n)[\s\S]*?(?=\n<!-- end -->)/, table));

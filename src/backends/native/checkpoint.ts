// Weights and optimiser state on disk: adapters in PEFT's format, full weights as model.safetensors, AdamW's state beside them.
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GradusError, messageOf } from '../../errors.ts';
import { bytesSource } from '../../formats/byte-source.ts';
import { openSafetensors, writeSafetensors } from '../../formats/safetensors.ts';
import type { EntropyState } from '../../grpo/entropy-control.ts';
import { type LoraAdapters, type LoraSettings, peftConfig, peftName } from '../../models/lora.ts';
import type { Arena } from './arena.ts';
import { fileError } from './file-error.ts';
import type { AdamW } from './optimizer.ts';

export interface Checkpoint {
  readonly values: Arena;
  readonly optimizer: AdamW;
  readonly entropyControl: { state: EntropyState };
  readonly modelName: string;
  readonly adapters: { readonly settings: LoraSettings; readonly adapters: LoraAdapters } | undefined;
}

const ADAPTER_CONFIG = 'adapter_config.json';
const OPTIMIZER = 'optimizer.safetensors';
const weightsFile = ({ adapters }: Checkpoint) => (adapters ? 'adapter_model.safetensors' : 'model.safetensors');
const storedName = ({ adapters }: Checkpoint, name: string) => (adapters ? peftName(name) : name);

export async function saveCheckpoint(directory: string, checkpoint: Checkpoint): Promise<void> {
  const { values, optimizer, entropyControl, adapters, modelName } = checkpoint;
  await mkdir(directory, { recursive: true });
  const tensors = (arena: Arena, rename: (name: string) => string) =>
    arena.layout.entries.map(({ name, shape }) => ({ name: rename(name), shape, data: arena.values(name) }));
  await writeDurably(
    join(directory, weightsFile(checkpoint)),
    writeSafetensors(
      tensors(values, (name) => storedName(checkpoint, name)),
      { format: 'pt' },
    ),
  );
  await writeDurably(
    join(directory, OPTIMIZER),
    writeSafetensors(
      [
        ...tensors(optimizer.mean, (name) => `exp_avg.${name}`),
        ...tensors(optimizer.square, (name) => `exp_avg_sq.${name}`),
      ],
      {
        step: String(optimizer.steps),
        entropy_coef: String(entropyControl.state.coefficient),
        last_entropy: String(entropyControl.state.entropy),
      },
    ),
  );
  if (adapters) {
    const config = peftConfig(adapters.settings, adapters.adapters, modelName);
    await writeFile(join(directory, ADAPTER_CONFIG), `${JSON.stringify(config, null, 2)}\n`);
  }
}

/** Reads weights, and the optimiser's state if it is there, into place. */
export async function loadCheckpoint(directory: string, checkpoint: Checkpoint): Promise<void> {
  const { values, optimizer, entropyControl } = checkpoint;
  const weights = await openTensors(join(directory, weightsFile(checkpoint)));
  if (!weights) {
    throw new GradusError('CHECKPOINT_NOT_FOUND', `${directory} holds no ${weightsFile(checkpoint)}`, {
      hint: 'was it saved with the same lora settings?',
    });
  }
  if (checkpoint.adapters) await checkScale(directory, checkpoint.adapters.settings);
  await readArena(weights, values, (name) => storedName(checkpoint, name), directory);
  const [held, known] = [weights.tensors.size, values.layout.entries.length];
  if (held > known) throw mismatch(`${directory} holds ${held} tensors, of which ${known} have a place here`);
  const state = await openTensors(join(directory, OPTIMIZER));
  if (!state) return;
  await readArena(state, optimizer.mean, (name) => `exp_avg.${name}`, directory);
  await readArena(state, optimizer.square, (name) => `exp_avg_sq.${name}`, directory);
  const { step, entropy_coef, last_entropy } = state.metadata;
  optimizer.steps = Number(step);
  entropyControl.state = { coefficient: Number(entropy_coef), entropy: Number(last_entropy) };
}

async function openTensors(path: string) {
  if (!existsSync(path)) return undefined;
  try {
    return await openSafetensors(bytesSource(await readFile(path)));
  } catch (error) {
    throw fileError(error, path);
  }
}

/** A matrix product says nothing of its scale: adapters trained with another alpha would load, and be wrong. */
async function checkScale(directory: string, settings: LoraSettings): Promise<void> {
  const path = join(directory, ADAPTER_CONFIG);
  const { r, lora_alpha, use_rslora }: ReturnType<typeof peftConfig> = await readFile(path, 'utf8')
    .then(JSON.parse)
    .catch((cause) => {
      throw new GradusError('CHECKPOINT_INVALID', `${path} cannot be read: ${messageOf(cause)}`, { path, cause });
    });
  if (r === settings.r && lora_alpha === settings.alpha && !use_rslora) return;
  const found = `r ${r} and lora_alpha ${lora_alpha}${use_rslora ? ', scaled by the root of r' : ''}`;
  throw mismatch(`${path} has ${found}, not r ${settings.r} and lora_alpha ${settings.alpha}`);
}

async function readArena(
  file: Awaited<ReturnType<typeof openSafetensors>>,
  arena: Arena,
  rename: (name: string) => string,
  directory: string,
): Promise<void> {
  for (const { name, shape } of arena.layout.entries) {
    const stored = file.tensors.get(rename(name))?.shape;
    if (String(stored) !== String(shape)) {
      throw mismatch(
        `${directory}: ${rename(name)} ${stored ? `has shape [${stored}], not [${shape}]` : 'is missing'}`,
      );
    }
    await file.readFloat32(rename(name), arena.values(name));
  }
}

function mismatch(message: string): GradusError {
  return new GradusError('CHECKPOINT_MISMATCH', message, {
    hint: 'the checkpoint belongs to another model or other lora settings',
  });
}

/** Written and on the disk when this returns. */
async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

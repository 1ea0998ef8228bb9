// The files that an adapter consists of, as PEFT names them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const ADAPTER_CONFIG = 'adapter_config.json';
export const ADAPTER_WEIGHTS = 'adapter_model.safetensors';
export const adapterFiles = [ADAPTER_CONFIG, ADAPTER_WEIGHTS] as const;

export function holdsAdapter(folder: string): boolean {
  return adapterFiles.every((name) => existsSync(join(folder, name)));
}

// The files that an adapter consists of, as PEFT names them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const ADAPTER_FILES = ['adapter_config.json', 'adapter_model.safetensors'] as const;

export function holdsAdapter(folder: string): boolean {
  return ADAPTER_FILES.every((name) => existsSync(join(folder, name)));
}

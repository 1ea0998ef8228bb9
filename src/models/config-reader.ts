// Reads the fields of a model's config.json, with one clear error for each that is missing, malformed or beyond us.
import { GradusError } from '../errors.ts';
import type { RopeSettings } from './rotary-tables.ts';

export type ConfigReader = ReturnType<typeof configReader>;

/** A value of a JSON file, in an error's one line. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

export function configReader(json: Readonly<Record<string, unknown>>) {
  const malformed = (field: string, expected: string) =>
    new GradusError('MODEL_CONFIG_INVALID', `config.json: ${field} must be ${expected}, not ${shown(json[field])}`, {
      path: field,
      hint: 'the model folder may be damaged; fetch it again',
    });
  const number = (field: string, fallback?: number): number => {
    const given = json[field] ?? fallback;
    if (typeof given !== 'number' || !Number.isFinite(given)) throw malformed(field, 'a number');
    return given;
  };
  const unsupported = (field: string, why: string) =>
    new GradusError('MODEL_UNSUPPORTED', `config.json: ${field} ${shown(json[field])} is not supported: ${why}`, {
      path: field,
      hint: 'choose another model',
    });
  return {
    number,
    /** What is greater than `most` would take more memory or time than any machine has. */
    integer(field: string, fallback?: number, most = 2 ** 31): number {
      const given = number(field, fallback);
      if (!Number.isInteger(given) || given <= 0) throw malformed(field, 'a positive integer');
      if (given > most) throw malformed(field, `at most ${most}`);
      return given;
    },
    boolean(field: string, fallback: boolean): boolean {
      const given = json[field] ?? fallback;
      if (typeof given !== 'boolean') throw malformed(field, 'true or false');
      return given;
    },
    text(field: string, fallback: string): string {
      const given = json[field] ?? fallback;
      if (typeof given !== 'string') throw malformed(field, 'a text');
      return given;
    },
    /** One id, a list of ids, or none. */
    ids(field: string): number[] {
      const given = json[field] ?? [];
      const list = Array.isArray(given) ? given : [given];
      if (!list.every((id) => Number.isInteger(id) && id >= 0)) throw malformed(field, 'a token id or a list of them');
      return list;
    },
    /** Rotary frequencies: `rope_parameters` in newer files, `rope_theta` and `rope_scaling` in older ones. */
    rope(): RopeSettings {
      const field = json.rope_scaling ? 'rope_scaling' : 'rope_parameters';
      const given = json[field] ?? {};
      if (typeof given !== 'object' || Array.isArray(given)) throw malformed(field, 'an object');
      const nested = given as Readonly<Record<string, unknown>>;
      const read = configReader(nested);
      const theta = nested.rope_theta === undefined ? number('rope_theta', 10000) : read.number('rope_theta');
      const type = nested.rope_type ?? nested.type ?? 'default';
      if (type === 'default') return { theta };
      if (type !== 'llama3') throw unsupported(field, 'rotary embeddings are read as default or llama3');
      return {
        theta,
        scaling: {
          factor: read.number('factor'),
          lowFrequencyFactor: read.number('low_freq_factor'),
          highFrequencyFactor: read.number('high_freq_factor'),
          originalContextLength: read.integer('original_max_position_embeddings'),
        },
      };
    },
    /** Throws where layers see less than the whole context: where a window is in use, is narrower, and some layer has it. */
    refuseSlidingWindow(used: boolean): void {
      const layerTypes = json.layer_types;
      const everyLayerFull = Array.isArray(layerTypes) && layerTypes.every((type) => type === 'full_attention');
      if (!used || everyLayerFull || number('sliding_window', 4096) >= number('max_position_embeddings', 32768)) return;
      throw unsupported(
        'sliding_window',
        'attention must see the whole context; choose a model without a window, or set max_position_embeddings to it',
      );
    },
    unsupported,
  };
}

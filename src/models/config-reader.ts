// Reads the fields of a model's config.json. A field that is missing, malformed or unsupported is an error that names it.
import { GradusError } from '../errors.ts';
import type { RopeSettings } from './rotary-tables.ts';

/** A JSON value for an error message, shortened to 80 characters. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** Each method throws `MODEL_CONFIG_INVALID` if its field is missing without a default, or not of the expected type. */
export class ConfigReader {
  readonly #json: Readonly<Record<string, unknown>>;

  constructor(json: Readonly<Record<string, unknown>>) {
    this.#json = json;
  }

  number(field: string, fallback?: number): number {
    const given = this.#json[field] ?? fallback;
    if (typeof given !== 'number' || !Number.isFinite(given)) throw this.#malformed(field, 'a number');
    return given;
  }

  positive(field: string, fallback?: number): number {
    const given = this.number(field, fallback);
    if (given <= 0) throw this.#malformed(field, 'a number above 0');
    return given;
  }

  notNegative(field: string, fallback?: number): number {
    const given = this.number(field, fallback);
    if (given < 0) throw this.#malformed(field, 'a number of at least 0');
    return given;
  }

  /** A positive integer. @param most rejects sizes that no machine has the memory or time for */
  integer(field: string, fallback?: number, most = 2 ** 31): number {
    const given = this.number(field, fallback);
    if (!Number.isInteger(given) || given <= 0) throw this.#malformed(field, 'a positive integer');
    if (given > most) throw this.#malformed(field, `at most ${most}`);
    return given;
  }

  boolean(field: string, fallback: boolean): boolean {
    const given = this.#json[field] ?? fallback;
    if (typeof given !== 'boolean') throw this.#malformed(field, 'true or false');
    return given;
  }

  text(field: string, fallback: string): string {
    const given = this.#json[field] ?? fallback;
    if (typeof given !== 'string') throw this.#malformed(field, 'a string');
    return given;
  }

  /** Token ids: the field may hold one id, a list of ids, or nothing. */
  ids(field: string): number[] {
    const given = this.#json[field] ?? [];
    const list = Array.isArray(given) ? given : [given];
    if (!list.every((id) => Number.isInteger(id) && id >= 0)) {
      throw this.#malformed(field, 'a token id or a list of token ids');
    }
    return list;
  }

  /** Rotary embeddings: `rope_parameters` in newer files, `rope_theta` and `rope_scaling` in older ones. Throws `MODEL_UNSUPPORTED`. */
  rope(): RopeSettings {
    const field = this.#json.rope_scaling ? 'rope_scaling' : 'rope_parameters';
    const given = this.#json[field] ?? {};
    if (typeof given !== 'object' || Array.isArray(given)) throw this.#malformed(field, 'an object');
    const nested = given as Readonly<Record<string, unknown>>;
    const reader = new ConfigReader(nested);
    const theta = nested.rope_theta === undefined ? this.positive('rope_theta', 10000) : reader.positive('rope_theta');
    const type = nested.rope_type ?? nested.type ?? 'default';
    if (type === 'default') return { theta };
    if (type !== 'llama3') throw this.unsupported(field, 'only rotary embeddings of type default or llama3 are');
    return {
      theta,
      scaling: {
        factor: reader.number('factor'),
        lowFrequencyFactor: reader.number('low_freq_factor'),
        highFrequencyFactor: reader.number('high_freq_factor'),
        originalContextLength: reader.integer('original_max_position_embeddings'),
      },
    };
  }

  /**
   * Throws `MODEL_UNSUPPORTED` if some layer cannot attend to the whole context.
   * @param used whether the model uses its sliding window at all
   */
  refuseSlidingWindow(used: boolean): void {
    const layerTypes = this.#json.layer_types;
    const everyLayerFull = Array.isArray(layerTypes) && layerTypes.every((type) => type === 'full_attention');
    if (!used || everyLayerFull) return;
    if (this.number('sliding_window', 4096) >= this.number('max_position_embeddings', 32768)) return;
    throw this.unsupported(
      'sliding_window',
      'attention must see the whole context; choose a model without a window, or set max_position_embeddings to its width',
    );
  }

  unsupported(field: string, why: string): GradusError {
    const message = `config.json: ${field} ${shown(this.#json[field])} is not supported: ${why}`;
    return new GradusError('MODEL_UNSUPPORTED', message, { path: field, hint: 'choose another model' });
  }

  #malformed(field: string, expected: string): GradusError {
    const message = `config.json: ${field} must be ${expected}, not ${shown(this.#json[field])}`;
    return new GradusError('MODEL_CONFIG_INVALID', message, {
      path: field,
      hint: 'the model folder may be damaged; download it again',
    });
  }
}

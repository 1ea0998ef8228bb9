// Reads the fields of a model's config.json, with one clear error for each that is missing, malformed or beyond us.
import { GradusError } from '../errors.ts';

export function configReader(json: Readonly<Record<string, unknown>>) {
  const malformed = (field: string, expected: string) =>
    new GradusError(
      'MODEL_CONFIG_INVALID',
      `config.json: ${field} must be ${expected}, not ${JSON.stringify(json[field]) ?? 'absent'}`,
      {
        path: field,
        hint: 'the model folder may be damaged; fetch it again',
      },
    );
  const number = (field: string, fallback?: number): number => {
    const given = json[field] ?? fallback;
    if (typeof given !== 'number' || !Number.isFinite(given)) throw malformed(field, 'a number');
    return given;
  };
  return {
    number,
    integer(field: string, fallback?: number): number {
      const given = number(field, fallback);
      if (!Number.isInteger(given) || given <= 0 || given > 2 ** 31) throw malformed(field, 'a positive integer');
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
    /** The base of rotary frequencies, which newer files keep in `rope_parameters`. */
    ropeTheta(): number {
      const nested = json.rope_parameters;
      if (nested === null || typeof nested !== 'object') return number('rope_theta', 10000);
      const { rope_theta = 10000, rope_type = 'default' } = nested as { rope_theta?: unknown; rope_type?: unknown };
      if (typeof rope_theta !== 'number' || rope_type !== 'default') {
        throw new GradusError(
          'MODEL_UNSUPPORTED',
          `config.json: rope_parameters of type ${String(rope_type)} are not supported`,
          { path: 'rope_parameters' },
        );
      }
      return rope_theta;
    },
    unsupported(field: string, why: string): GradusError {
      return new GradusError(
        'MODEL_UNSUPPORTED',
        `config.json: ${field} ${JSON.stringify(json[field])} is not supported: ${why}`,
        {
          path: field,
          hint: 'choose another model',
        },
      );
    },
  };
}

// Durations in configurations: 30s, 10m, 1h.

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The milliseconds of a duration. @param text as the schema accepts it */
export function milliseconds(text: string): number {
  const [, count, unit] = /^(\d+)(\D+)$/.exec(text)!;
  return Number(count) * units[unit!]!;
}

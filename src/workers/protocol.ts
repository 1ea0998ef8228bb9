// The protocol between this process and a worker in another language: one JSON object per line, in both directions.
// python/gradus_worker/channel.py implements the other side.
import { z } from 'zod';

/** Both sides must have the same; it grows with every change that the other side could misunderstand. */
export const protocolVersion = 1;

/** The first line of a worker. */
const hello = z.strictObject({
  protocol: z.int(),
  worker: z.string(),
  /** Of the packages it computes with. */
  versions: z.record(z.string(), z.string()),
});

const failure = z.strictObject({
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  kind: z.enum(['failed', 'invalid', 'not_ready', 'credentials']).default('failed'),
});

/** Each side counts its own calls: an id in an answer is that of a call of whoever reads it. */
const id = z.int().nonnegative();

const message = z.union([
  z.strictObject({ hello }),
  /** In place of a hello, or at the end: why the worker cannot go on. */
  z.strictObject({ fatal: failure }),
  z.strictObject({ id, call: z.string(), params: z.unknown() }),
  z.strictObject({ id, result: z.unknown() }),
  z.strictObject({ id, error: failure }),
  /** The answer to that call may be cut short. */
  z.strictObject({ cancel: id }),
]);

export type Hello = z.output<typeof hello>;
export type Failure = z.output<typeof failure>;
export type Message = z.output<typeof message>;
export type OutgoingMessage = z.input<typeof message>;

/** Undefined for whatever is not of the protocol. */
export function parseMessage(line: string): Message | undefined {
  try {
    return message.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

// What is said of an error that a reward or an environment threw: its class, its message and its place, as Python's are told.
import { GradusError, messageOf, stackOf } from './errors.ts';
import { TimeLimitError } from './time-limits.ts';

/** Where the code of this package is, in stacks. */
const ownFolder = new URL('./', import.meta.url).href;

/**
 * `TypeError: x is not a function (mine.ts:7)`, of an error that arose in a user's file or in what that file calls outside this package. Of any other
 * its message alone. The place is the innermost in a user's file, without folder or column, so that it is the same on each machine.
 */
export function faultMessage(error: unknown): string {
  const message = messageOf(error);
  if (!(error instanceof Error) || error instanceof GradusError || error instanceof TimeLimitError) return message;
  const place = userPlace(stackOf(error) ?? '', message);
  if (place === undefined) return message;
  const name = nameOf(error);
  return `${message === '' ? name : `${name}: ${message}`} (${place})`;
}

/** The class of an error, which user code may have made unreadable. */
export function nameOf(error: Error): string {
  try {
    return messageOf(error.name);
  } catch {
    return 'Error';
  }
}

/** `file:line`. Only frames before the first one of this package count: those after it are of whoever called it. */
function userPlace(stack: string, message: string): string | undefined {
  // The message comes first, and may look like frames.
  const frames = stack.slice(Math.max(0, stack.indexOf(message)) + message.length).split('\n');
  for (const frame of frames) {
    if (frame.includes(ownFolder)) return undefined;
    const [, path, line] = /^ +at (?:.* \(|async )?((?:file:\/\/)?\/[^:]+):(\d+):\d+\)?$/.exec(frame) ?? [];
    if (path !== undefined && !path.includes('/node_modules/')) return `${baseName(path)}:${line}`;
  }
  return undefined;
}

/** Stacks tell ES modules as URLs and others as paths. */
function baseName(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return path.startsWith('file:') ? decodeURIComponent(name) : name;
}

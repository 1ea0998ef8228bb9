// Reads a list of calls in JSON.
import { parseToWrite } from '../common/json-numbers.ts';
import { messageOf } from '../errors.ts';
import { type CallKeys, callFromJson, type FoundCall, type ReadCall } from './tool-syntax.ts';

/** The calls of a list, or what is wrong with it. */
export function callsInList(json: string, keys: CallKeys): FoundCall['call'] {
  let list: unknown;
  try {
    list = parseToWrite(json);
  } catch (error) {
    return `the calls are not valid JSON: ${messageOf(error)}`;
  }
  if (!Array.isArray(list)) return 'the calls are not a list';
  const calls: ReadCall[] = [];
  for (const item of list as readonly unknown[]) {
    const call = callFromJson(JSON.stringify(item), keys);
    if (typeof call === 'string') return call;
    const id = keys.id === undefined ? undefined : (item as Readonly<Record<string, unknown>>)[keys.id];
    calls.push({ ...call, ...(typeof id === 'string' && { id }) });
  }
  return calls.length > 0 ? calls : 'the list has no call';
}

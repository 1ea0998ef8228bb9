// version.result/1: what is installed.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const versionSchema = resultSchema('version.result/1', 'version', 'The installed versions.', {
  versions: z.strictObject({ gradus: z.string(), node: z.string(), onnxruntime: z.string() }),
});

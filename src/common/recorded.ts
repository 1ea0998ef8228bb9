// The type of what a schema describes, as its readers have it: nothing of it is changed.
import type { z } from 'zod';

export type Recorded<S extends z.ZodType> = DeepReadonly<z.infer<S>>;
type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

// Our own operators for ONNX Runtime, for every unit of this machine's processor.
import { libraryFor } from '../src/runtime/kernels.ts';
import { unitsOfMachine } from '../src/runtime/processor.ts';

interface TestedLibrary {
  /** What they multiply on, for names of tests. */
  readonly unit: string;
  /** Empty where they cannot be used. */
  readonly library: string;
  /** Why they cannot be used. */
  readonly skip: string | false;
}

export function kernelLibraries(): TestedLibrary[] {
  const units = unitsOfMachine();
  if ('missing' in units) return [{ unit: 'no unit', library: '', skip: units.missing }];
  return units.map((unit) => {
    const found = libraryFor(unit);
    return 'library' in found
      ? { unit, library: found.library, skip: false }
      : { unit, library: '', skip: found.missing };
  });
}

// TypeScript as JavaScript, for the files that Node does not strip itself.
import { stripTypeScriptTypes } from 'node:module';

/** The source with blanks in place of its types. Throws where that is not enough, such as for enums. */
export function withoutTypes(source: string): string {
  const { emitWarning } = process;
  // Node warns that this function is experimental, which is no news to whoever runs a demo.
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

// Lets user code import this package by its name even where it is not installed, such as in a new project.
import { registerHooks } from 'node:module';
import { extname } from 'node:path';

const named = /^gradus(?:\/(formats\/[\w-]+))?$/;
const root = new URL('../../', import.meta.url).href;

let offered = false;

/**
 * From now on `gradus` and `gradus/formats/…`, if they are not installed, are the package that is running: its sources in a checkout, else its
 * build. A file within a checkout never gets a build that lies there, too.
 */
export function offerRunningPackage(): void {
  if (offered) return;
  offered = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const match = named.exec(specifier);
      if (!match) return nextResolve(specifier, context);
      try {
        const found = nextResolve(specifier, context);
        if (!found.url.startsWith(root)) return found;
      } catch (error) {
        // `import` and `require` have different codes for this.
        if (!/MODULE_NOT_FOUND$/.test(String((error as NodeJS.ErrnoException).code))) throw error;
      }
      const module = `../${match[1] ?? 'index'}${extname(import.meta.filename)}`;
      return { url: new URL(module, import.meta.url).href, shortCircuit: true };
    },
  });
}

// A browser for tests: the Chromium that scripts/fetch-chromium.ts fetches, or one that is installed.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium as playwright } from 'playwright-core';
import { chromium as fetched } from '../scripts/fetch-chromium.ts';

function findChromium(): string | undefined {
  if (existsSync(fetched.program)) return fetched.program;
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find((path) => existsSync(path));
}

const program = findChromium();

/** Why tests in a browser are skipped; false if there is one. */
export const noBrowser =
  program === undefined && 'NO BROWSER: node scripts/fetch-chromium.ts fetches one, or install Chromium';

export function launchBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: program!,
    // Without a locale: see dashboard/locale.js.
    env: { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: fetched.libraries },
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
}

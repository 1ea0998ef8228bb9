// How this process was started, so that the commands it suggests can be typed as they stand.

/** `npx gradus` if npm put it into a project, `npm run gradus --` in a checkout that started it so, else `gradus`. */
export function ownName(script: string, environment: Readonly<Record<string, string | undefined>>): string {
  const { npm_lifecycle_event, npm_config_loglevel } = environment;
  if (npm_lifecycle_event === 'gradus') {
    return npm_config_loglevel === 'silent' ? 'npm run --silent gradus --' : 'npm run gradus --';
  }
  return /[\\/]node_modules[\\/](\.bin|gradus[\\/]bin)[\\/]gradus$/.test(script) ? 'npx gradus' : 'gradus';
}

/** `text` with its commands under that name. */
export function renamed(text: string, name: string): string {
  return name === 'gradus' ? text : text.replaceAll(/(?<![\w/.-]|npx )gradus (?=[a-z[]|--help)/g, `${name} `);
}

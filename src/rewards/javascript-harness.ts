// The program that tries a completion's JavaScript or TypeScript code.

/**
 * The code runs as a script, whose names tests see; `import` and `export` are rewritten for that, and types are stripped. If it exits, it ends there, and what it
 * has defined counts. Nothing of this program can be reached from the code: what it needs later are copies in a closure, and what would show the memory of a process is taken
 * from Node's modules.
 */
export const javascriptHarness = String.raw`(async () => {
'use strict';
const fs = require('node:fs');
const { readFileSync, writeFileSync, writeSync } = fs;
const { runInThisContext, Script } = require('node:vm');
const { spawnSync } = require('node:child_process');
const { stripTypeScriptTypes } = require('node:module');
const strict = Object.freeze(require('node:assert/strict'));
const { stringify, parse } = JSON;
const leave = process.reallyExit.bind(process, 0);
writeSync(1, 'started\n');
const input = readFileSync(0);
const start = input.indexOf(10) + 1;
const end = start + Number(input.toString('utf8', 0, start));
const { code, kind, language } = parse(input.toString('utf8', start, end));
const { mark, tests = [], calls = [], runs = [] } = parse(input.toString('utf8', end));
input.fill(0);

const isModule = (text) => /^[ \t]*(?:import\b(?!\s*\()|export\b)/m.test(text);
const withoutTypes = (text) => stripTypeScriptTypes(text, { mode: 'transform' });
const bound = (names) => names.replace(/\btype\s+(?=\w)/g, '').replace(/\s+as\s+/g, ': ');
const asScript = (text) => text
  .replace(/^[ \t]*import\s+([\w$]+)?\s*,?\s*(\{[^}]*\}|\*\s*as\s+[\w$]+)?\s*from\s*(['"][^'"]+['"]);?/gm, (_, main, others, from) => {
    const parts = [];
    if (main) parts.push('var ' + main + ' = ((m) => m && m.default !== undefined ? m.default : m)(require(' + from + '));');
    if (others) parts.push('var ' + bound(others.replace(/^\*\s*as\s+/, '')) + ' = require(' + from + ');');
    return parts.join(' ');
  })
  .replace(/^[ \t]*import\s*(['"][^'"]+['"]);?/gm, 'require($1);')
  .replace(/^[ \t]*export\s*(?:\{[^}]*\}|\*)(?:\s*from\s*['"][^'"]+['"])?;?/gm, '')
  .replace(/^([ \t]*)export\s+default\s+(?=(?:async\s+)?function\b\s*\*?\s*[\w$]|class\s+[\w$])/gm, '$1')
  .replace(/^([ \t]*)export\s+default\s+/gm, '$1module.exports.default = ')
  .replace(/^([ \t]*)export\s+/gm, '$1')
  .replace(/\bimport\.meta\.main\b/g, 'false').replace(/\bimport\.meta\b/g, '({ url: "" })');

const compiled = (text) => {
  const variants = [() => text, () => asScript(text), () => asScript(withoutTypes(text))];
  for (const variant of language === 'typescript' ? variants.slice(2) : variants) {
    try {
      return new Script(variant(), { filename: 'solution.js' });
    } catch {}
  }
};

const hideMemory = () => {
  const showing = ['Session', 'open', 'writeHeapSnapshot', 'getHeapSnapshot', 'queryObjects', 'setFlagsFromString', 'startupSnapshot'];
  for (const module of ['inspector', 'inspector/promises', 'v8'].map((name) => require('node:' + name))) {
    for (const name of showing) delete module[name];
  }
  delete process.binding;
  delete process._linkedBinding;
};

let hasRead = false;
const EXIT = Symbol('exit');
const load = () => {
  hideMemory();
  fs.readFileSync = (path, ...rest) => {
    if (path !== 0 && path !== '/dev/stdin') return readFileSync(path, ...rest);
    hasRead = true;
    const encoding = typeof rest[0] === 'string' ? rest[0] : rest[0]?.encoding;
    return encoding ? '' : Buffer.alloc(0);
  };
  const end = () => { throw EXIT; };
  for (const name of ['exit', 'reallyExit']) process[name] = end;
  process.on('uncaughtException', () => {});
  process.on('unhandledRejection', () => {});
  const module = { exports: {}, id: 'solution', filename: 'solution.js', loaded: false, children: [], paths: [] };
  Object.assign(globalThis, { require, module, exports: module.exports, assert: strict });
  const script = compiled(code);
  if (!script) return false;
  try {
    script.runInThisContext();
  } catch (error) {
    if (error !== EXIT && !hasRead) return false;
  }
  const exported = typeof module.exports === 'function' && module.exports.name
    ? { [module.exports.name]: module.exports } : module.exports;
  for (const name of Object.keys(exported ?? {})) {
    if (/^[\w$]+$/.test(name) && name !== 'default' && runInThisContext('typeof ' + name) === 'undefined') globalThis[name] = exported[name];
  }
  return true;
};

const passes = async (text) => {
  const own = runInThisContext('typeof assert === "undefined" ? undefined : assert') === strict;
  const script = language === 'typescript' ? withoutTypes(text) : text;
  if (own) await runInThisContext(script, { filename: 'tests.js' });
  else await runInThisContext('(async (assert) => {' + script + '\n})', { filename: 'tests.js' })(strict);
  return '';
};

const called = async ({ name, args }) => {
  const isDefined = runInThisContext('typeof ' + name) === 'function';
  const value = isDefined ? runInThisContext(name)(...args) : new (runInThisContext('Solution'))()[name](...args);
  const text = stringify(await value);
  if (text === undefined) throw new TypeError('no plain data');
  return text;
};

let command;
const ran = ({ stdin, most }) => {
  if (!command) {
    const text = language === 'typescript' ? withoutTypes(code) : code;
    const file = isModule(text) ? 'solution.mjs' : 'solution.cjs';
    writeFileSync(file, text);
    // Where there is no /proc, there is no /dev/stdin.
    writeFileSync('stdin.cjs', "const fs = require('fs'); const read = fs.readFileSync;" +
      "fs.readFileSync = (path, ...rest) => read(path === '/dev/stdin' ? 0 : path, ...rest); require('module').syncBuiltinESMExports();");
    command = ['-r', './stdin.cjs', './' + file];
  }
  const { status, stdout } = spawnSync(process.execPath, command, { input: stdin, maxBuffer: most, stdio: ['pipe', 'pipe', 'ignore'] });
  if (status !== 0) throw new Error('failed');
  return stdout.toString('base64');
};

const trial = { statements: [tests, passes], calls: [calls, called], programs: [runs, ran] }[kind];
if (kind === 'programs' || load()) {
  const [cases, attempt] = trial;
  // Microtasks of the code come first.
  await new Promise((done) => setImmediate(done));
  for (let i = 0; i < cases.length; i++) {
    try {
      const what = await attempt(cases[i]);
      writeSync(1, '\n' + mark + ' ' + i + (what === '' ? '' : ' ' + what) + '\n');
    } catch {}
  }
}
leave();
})();
`;

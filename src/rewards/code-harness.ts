// Programs that run the code of a completion and then its tests, and print a mark for each test that passes.

export type CodeLanguage = 'python' | 'javascript';

/** Each reads `{code, tests, mark}` as JSON from stdin and prints `mark i` on a separate line if test `i` passes. */
export const harnesses: Readonly<Record<CodeLanguage, string>> = {
  python: `
import json, os, sys
def main():
    task = json.load(sys.stdin)
    scope = {"__name__": "__main__"}
    def passes(text):
        try:
            exec(compile(text, "solution.py", "exec"), scope)
        except BaseException:
            return False
        return True
    if not passes(task["code"]):
        return
    for i, test in enumerate(task["tests"]):
        if passes(test):
            sys.stdout.flush()
            os.write(1, f"\\n{task['mark']} {i}\\n".encode())
main()
os._exit(0)
`,
  javascript: `
const { readFileSync, writeSync } = require('node:fs');
const { runInThisContext } = require('node:vm');
Object.assign(globalThis, { require, assert: require('node:assert/strict') });
(async ({ code, tests, mark }) => {
  const passes = async (text) => {
    try {
      await runInThisContext(text, { filename: 'solution.js' });
      return true;
    } catch {
      return false;
    }
  };
  if (await passes(code)) {
    for (const [i, test] of tests.entries()) if (await passes(test)) writeSync(1, \`\\n\${mark} \${i}\\n\`);
  }
  process.exit();
})(JSON.parse(readFileSync(0, 'utf8')));
`,
};

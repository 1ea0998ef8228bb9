// Writes docs/api: the types of each entry of the package, as text, so that a change of the public surface is seen in a review.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
  type ExtractorMessage,
} from '@microsoft/api-extractor';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'docs', 'api');

/** The report of each entry, by the name of its file in docs/api. Types that an entry only refers to are in it, too. */
export function apiReports(): Map<string, string> {
  // Within the checkout, so that declarations find the packages that they import.
  const work = mkdtempSync(join(root, '.api-report-'));
  try {
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = ['-p', join(root, 'tsconfig.build.json'), '--outDir', join(work, 'dist')];
    // Whether types are right is the check's to say.
    const declarationsAlone = ['--emitDeclarationOnly', '--noCheck', '--singleThreaded'];
    execFileSync(process.execPath, [compiler, ...options, ...declarationsAlone], { stdio: 'inherit' });
    const reports = join(work, 'reports');
    mkdirSync(reports);
    const configs = [...publicEntries()].map(([name, file]) => configOf(name, join(work, file), reports));
    const additionalEntryPoints = configs.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath);
    const compilerState = CompilerState.create(configs[0]!, { additionalEntryPoints });
    for (const config of configs) {
      Extractor.invoke(config, { compilerState, localBuild: true, messageCallback: silence });
    }
    const names = readdirSync(reports).sort();
    return new Map(names.map((name) => [name, withoutRemarks(readFileSync(join(reports, name), 'utf8'))]));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Types alone: comments in them change more often, and change nothing. */
function withoutRemarks(report: string): string {
  return report.replaceAll(/^ *(?:\/\*\*[\s\S]*?\*\/|\/\/ \(undocumented\)|\/\/ @public.*)\n/gm, '');
}

/** The declarations of each entry of package.json, by the name of its report. */
function publicEntries(): Map<string, string> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { types: string }>;
  };
  return new Map(
    Object.entries(exports).flatMap(([entry, target]) =>
      typeof target === 'string' ? [] : [[`gradus${entry.slice(1)}`.replace('/', '-'), target.types]],
    ),
  );
}

function configOf(name: string, declarations: string, reports: string): ExtractorConfig {
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      newlineKind: 'lf',
      mainEntryPointFilePath: declarations,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'es2024',
            module: 'nodenext',
            lib: ['esnext', 'dom'],
            types: ['node'],
            typeRoots: [join(root, 'node_modules', '@types')],
            strict: true,
            skipLibCheck: true,
            noEmit: true,
          },
          files: [declarations],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: name,
        reportFolder: reports,
        reportTempFolder: join(reports, '..', 'temporary'),
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      // Reports hold types alone: whether something has a docstring is another test's.
      messages: {
        extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, 'package.json'),
  });
}

/** Errors are printed; that a report is new is none. */
function silence(message: ExtractorMessage): void {
  if (message.logLevel !== ExtractorLogLevel.Error) message.handled = true;
}

if (import.meta.main) {
  const reports = apiReports();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, text] of reports) writeFileSync(join(folder, name), text);
}

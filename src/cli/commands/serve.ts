// gradus serve: serves a model behind OpenAI's API.
import { Command } from 'commander';
import { given } from '../../common/given.ts';
import { keepSecret } from '../../common/redaction.ts';
import { GradusError } from '../../errors.ts';
import type { ServeOptions } from '../../server/serve.ts';
import { portNumber } from '../arguments.ts';
import type { Cli } from '../cli.ts';
import { describeError } from '../output.ts';
import { serveUntilStopped } from '../signals.ts';

const EXAMPLES = `Examples:
  gradus serve latest
  gradus serve runs/small --port 8080 --name my-model
  gradus serve ./my-model                      a model that export --merge wrote, or any other
  curl http://127.0.0.1:8000/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model": "small", "messages": [{"role": "user", "content": "What is 3 + 4?"}]}'
`;

const OPEN =
  'anybody who reaches this machine over the network may use the model, without a key: give one with --api-key-env VARIABLE, or leave --host out';

interface ServeFlags extends Pick<ServeOptions, 'checkpoint' | 'host' | 'port' | 'name'> {
  readonly apiKeyEnv?: string;
}

export function serveCommand(cli: Cli): Command {
  return new Command('serve')
    .description(
      'answer requests of OpenAI’s interface (chat completions, responses, completions, models) with a trained model',
    )
    .argument('<run|config|model>', 'a run (directory, name, latest), a config file, or a model (folder or .gguf file)')
    .option('--checkpoint <which>', 'best, latest or a step (default: best)')
    .option('--host <address>', 'where to listen (default: 127.0.0.1, which only this machine reaches)')
    .option('--port <port>', 'where to listen; 0 takes any that is free (default: 8000)', portNumber)
    .option('--name <name>', 'what clients call the model (default: the name of the run, or of the model)')
    .option('--api-key-env <variable>', 'the environment variable with the key that clients must send (default: none)')
    .option('--json', 'print one JSON object on stdout, as soon as it listens')
    .addHelpText('before', EXAMPLES)
    .action(cli.action((subject: string, flags: ServeFlags) => runServer(cli, subject, flags)));
}

async function runServer({ output }: Cli, subject: string, { apiKeyEnv, ...flags }: ServeFlags) {
  const { serve } = await import('../../server/serve.ts');
  const apiKey = apiKeyEnv === undefined ? undefined : keyIn(apiKeyEnv);
  const { checkpoint, host, port, name } = flags;
  const onError = (error: unknown) => {
    output.trace(error);
    output.errorLine(describeError(error));
  };
  return serveUntilStopped(
    (signal) => serve(subject, { ...given({ checkpoint, host, port, name, apiKey }), signal, onError }),
    ({ url, model, run, isLocal }) => {
      const base_url = `${url}/v1`;
      const warning = isLocal || apiKey !== undefined ? {} : { warning: OPEN };
      const result = { ok: true, schema: 'serve.result/1', command: 'serve', url, base_url, model, ...warning };
      output.result({ ...result, ...(run && { run }) }, `${model} answers at ${base_url}; Ctrl-C ends it`);
      if (warning.warning !== undefined) output.warningLine(warning.warning);
    },
  );
}

function keyIn(variable: string): string {
  const key = process.env[variable];
  if (key) {
    keepSecret(key);
    return key;
  }
  throw new GradusError('CREDENTIALS_MISSING', `the environment variable ${variable} is not set`, {
    hint: `export ${variable}, or leave --api-key-env out`,
    path: '--api-key-env',
    kind: 'credentials',
  });
}

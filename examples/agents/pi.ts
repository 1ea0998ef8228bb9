// A coding agent as it comes from npm (pi, https://pi.dev): this program starts it once for each rollout, with its own home folder, in which the policy is the only model.
//
//   npm install -g @mariozechner/pi-coding-agent
//   gradus train examples/agents/pi.yaml
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { question, answer } = JSON.parse(readFileSync(0, 'utf8'));
const home = mkdtempSync(join(tmpdir(), 'pi-'));
const work = join(home, 'work');
mkdirSync(join(home, '.pi', 'agent'), { recursive: true });
mkdirSync(work);
const policy = {
  baseUrl: process.env.OPENAI_BASE_URL,
  apiKey: process.env.OPENAI_API_KEY,
  api: 'openai-completions',
  models: [{ id: 'policy', contextWindow: 8192, maxTokens: 1024 }],
};
writeFileSync(join(home, '.pi', 'agent', 'models.json'), JSON.stringify({ providers: { gradus: policy } }));
try {
  const flags = ['--print', '--no-session', '--provider', 'gradus', '--model', 'policy'];
  const env = { ...process.env, HOME: home, PI_OFFLINE: '1' };
  const text = execFileSync('pi', [...flags, question], { cwd: work, env, encoding: 'utf8' }).trim();
  console.log(JSON.stringify({ text, scores: { correct: Number(text.includes(answer)) } }));
} finally {
  rmSync(home, { recursive: true });
}

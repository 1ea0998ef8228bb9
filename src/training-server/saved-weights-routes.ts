// Routes that report saved weights, and the models that they were saved from.
import type { Hono } from 'hono';
import { Refusal } from './refusal.ts';
import * as requests from './requests.ts';
import type { TrainingServer } from './training-server.ts';

export function savedWeightsRoutes(app: Hono, server: TrainingServer): void {
  app.post('/weights_info', async (c) => {
    const content: unknown = await c.req.json().catch(() => undefined);
    const { tinker_path } = requests.parse(requests.weightsInfoRequest, content);
    const { base_model, rank, train_mlp, train_attn } = await server.weights.find(tinker_path);
    return c.json({ base_model, is_lora: true, lora_rank: rank, train_mlp, train_attn, train_unembed: false });
  });
  app.get('/training_runs/:id', async (c) => c.json(await trainingRun(server, c.req.param('id'))));
  app.get('/training_runs/:id/checkpoints', async (c) => {
    return c.json({ checkpoints: await checkpoints(server, c.req.param('id')) });
  });
  app.delete('/training_runs/:id/checkpoints/:kind/:name', async (c) => {
    const { id, kind, name } = c.req.param();
    await server.weights.remove(`tinker://${id}/${kind}/${name}`);
    return c.body(null, 204);
  });
}

async function checkpoints(server: TrainingServer, model: string) {
  return (await server.weights.list(model)).map(({ kind, path, created, bytes, user_metadata }) => ({
    checkpoint_id: path.split('/').slice(-2).join('/'),
    checkpoint_type: kind === 'weights' ? 'training' : 'sampler',
    time: created,
    tinker_path: path,
    size_bytes: bytes,
    public: false,
    user_metadata,
  }));
}

/** Throws a `Refusal` for a model that is neither trained nor saved. */
async function trainingRun(server: TrainingServer, id: string): Promise<object> {
  const saved = await checkpoints(server, id);
  const trained = server.findModel(id);
  const [first] = await server.weights.list(id);
  const described = trained?.described ?? first;
  if (!described) throw new Refusal(`there is no model ${id}, and no weights of one`, 404);
  const newest = (type: string) =>
    saved.filter(({ checkpoint_type }) => checkpoint_type === type).sort((a, b) => b.time.localeCompare(a.time))[0];
  const times = [...saved.map(({ time }) => time), ...(trained ? [new Date(trained.lastRequest).toISOString()] : [])];
  return {
    training_run_id: id,
    base_model: described.base_model,
    model_owner: 'gradus',
    is_lora: true,
    lora_rank: described.rank,
    last_request_time: times.sort().at(-1),
    last_checkpoint: newest('training') ?? null,
    last_sampler_checkpoint: newest('sampler') ?? null,
    user_metadata: described.user_metadata,
  };
}

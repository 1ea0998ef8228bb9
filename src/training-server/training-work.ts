// The work on models: creating, training, saving, loading and unloading them.
import type { TokenBatch } from '../backends/native/lora-models/lora-model.ts';
import { batchOf } from './batch.ts';
import type { PassRequest } from './protobuf-messages.ts';
import { Refusal } from './refusal.ts';
import * as requests from './requests.ts';
import { type Body, requestId, type Submitted } from './submitted.ts';
import { modelId, samplerId, type TrainedModel, type TrainingServer } from './training-server.ts';

export function createModel(server: TrainingServer, body: Body): Submitted {
  const { session_id, model_seq_id, base_model, lora_config, ...rest } = requests.parse(
    requests.createModelRequest,
    body.content,
  );
  server.hear(session_id);
  server.assertBase(base_model);
  if (!lora_config) throw new Refusal('lora_config is missing: this server trains LoRA models only');
  assertAdam(rest.optimizer_config?.type);
  const id = modelId(session_id, model_seq_id);
  return {
    id: requestId(id, 0, body),
    run: () =>
      server.queue.run(async () => {
        server.createModel(session_id, model_seq_id, lora_config, rest.user_metadata ?? null);
        return { json: { type: 'create_model', model_id: id } };
      }),
  };
}

export function forward(server: TrainingServer, body: Body): Submitted {
  const { forward_input, ...request } = requests.parse(requests.forwardRequest, body.content);
  return pass(server, { ...request, input: forward_input, forwardOnly: true }, body);
}

export function forwardBackward(server: TrainingServer, body: Body): Submitted {
  const { forward_backward_input, ...request } = requests.parse(requests.forwardBackwardRequest, body.content);
  return pass(server, { ...request, input: forward_backward_input, forwardOnly: false }, body);
}

type Pass = Omit<PassRequest, 'seq_id'> & { readonly seq_id?: number | null | undefined };

/** A pass over examples, which adds to the gradients of the model unless it is forward only. */
export function pass(
  server: TrainingServer,
  { model_id, seq_id, input, forwardOnly }: Pass,
  body: Pick<Body, 'bytes'>,
): Submitted {
  const { model } = server.model(model_id);
  const batch = batchOf(input);
  model.assertBatch(batch.sequences);
  return {
    id: requestId(model_id, seq_id, body),
    model_id,
    run: () => server.queue.run(async () => ({ passes: await passOutput(server, model_id, batch, forwardOnly) })),
  };
}

async function passOutput(server: TrainingServer, model_id: string, batch: TokenBatch, forwardOnly: boolean) {
  const { model } = server.model(model_id);
  const { metrics, logprobs } = await (forwardOnly ? model.measure(batch) : model.addGradient(batch));
  const outputs = logprobs.map((row) => ({
    logprobs: { data: row, dtype: 'float32' as const, shape: [row.length] },
  }));
  return { loss_fn_output_type: 'ArrayRecord', loss_fn_outputs: outputs, metrics: { 'loss:sum': metrics.loss! } };
}

export function optimStep(server: TrainingServer, body: Body): Submitted {
  const { model_id, seq_id, adam_params, optimizer_params } = requests.parse(requests.optimStepRequest, body.content);
  server.model(model_id);
  if (optimizer_params) assertAdam(optimizer_params.type);
  if (!adam_params) throw new Refusal('adam_params are missing');
  const { learning_rate, beta1, beta2, eps, weight_decay, grad_clip_norm } = adam_params;
  const settings = {
    beta1,
    beta2,
    epsilon: eps,
    weightDecay: weight_decay,
    maxGradNorm: grad_clip_norm > 0 ? grad_clip_norm : Number.POSITIVE_INFINITY,
  };
  return {
    id: requestId(model_id, seq_id, body),
    model_id,
    run: () =>
      server.queue.run(async () => {
        const norm = await server.model(model_id).model.step(learning_rate, settings);
        return { json: { type: 'optim_step', metrics: { 'unclipped_grad_l2:mean': norm } } };
      }),
  };
}

export function saveWeights(server: TrainingServer, body: Body): Submitted {
  const request = requests.parse(requests.saveRequest, body.content);
  const { model_id, seq_id, overwrite } = request;
  server.model(model_id);
  const path = server.weights.pathOf(model_id, 'weights', request.path ?? `step-${seq_id ?? Date.now()}`);
  return {
    id: requestId(model_id, seq_id, body),
    model_id,
    run: () =>
      server.queue.run(async () => {
        await save(server, server.model(model_id), path, overwrite, request.user_metadata);
        return { json: { type: 'save_weights', path } };
      }),
  };
}

/** With a name the weights are saved; without, a sampler has a copy of them. */
export function saveWeightsForSampler(server: TrainingServer, body: Body): Submitted {
  const request = requests.parse(requests.saveForSamplerRequest, body.content);
  const { model_id, seq_id, sampling_session_seq_id: number } = request;
  const { session } = server.model(model_id);
  const path = request.path == null ? undefined : server.weights.pathOf(model_id, 'sampler_weights', request.path);
  if (path === undefined && number == null) throw new Refusal('path is missing: give the weights a name');
  return {
    id: requestId(model_id, seq_id, body),
    model_id,
    run: () =>
      server.queue.run(async () => {
        const trained = server.model(model_id);
        if (path !== undefined) await save(server, trained, path, true, request.user_metadata);
        const sampler = number == null ? undefined : samplerId(session, number);
        if (number != null)
          server.addSampler(session, number, { weights: trained.model.weights(), ...(path !== undefined && { path }) });
        return { json: { type: 'save_weights_for_sampler', path, sampling_session_id: sampler } };
      }),
  };
}

async function save(
  server: TrainingServer,
  { model, described }: TrainedModel,
  path: string,
  overwrite: boolean,
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): Promise<void> {
  const user_metadata = metadata ?? described.user_metadata;
  const description = { ...described, user_metadata, created: new Date().toISOString() };
  await server.weights.save(path, description, { overwrite, write: (folder) => model.save(folder) });
}

/** Loads into an existing model, or into a new one, for which this is the first request. */
export function loadWeights(server: TrainingServer, body: Body): Submitted {
  const request = requests.parse(requests.loadRequest, body.content);
  const { model_id, seq_id, session_id, model_seq_id: number, path, optimizer } = request;
  server.weights.assertPath(path);
  if (request.base_model != null) server.assertBase(request.base_model);
  if (model_id != null) {
    server.model(model_id);
    return {
      id: requestId(model_id, seq_id, body),
      model_id,
      run: () =>
        server.queue.run(async () => {
          const saved = await server.weights.find(path);
          await server.model(model_id).model.load(saved.folder, { weightsOnly: !optimizer });
          return { json: { type: 'load_weights', path, model_id } };
        }),
    };
  }
  if (session_id == null || number == null) throw new Refusal('model_id is missing, or session_id with model_seq_id');
  server.hear(session_id);
  const id = modelId(session_id, number);
  return {
    id: requestId(id, 0, body),
    run: () =>
      server.queue.run(async () => {
        const saved = await server.weights.find(path);
        const metadata = request.user_metadata ?? saved.user_metadata;
        await server.loadModel(session_id, number, saved, { optimizer, metadata });
        return { json: { type: 'load_weights', path, model_id: id } };
      }),
  };
}

export function unloadModel(server: TrainingServer, body: Body): Submitted {
  const { model_id } = requests.parse(requests.modelRequest, body.content);
  server.model(model_id);
  return {
    id: requestId(model_id, null, body),
    model_id,
    run: () =>
      server.queue.run(async () => {
        server.unload(model_id);
        return { json: { type: 'unload_model', model_id } };
      }),
  };
}

function assertAdam(type: string | undefined): void {
  if (type === undefined || type === 'adamw') return;
  throw new Refusal(`optimizer ${JSON.stringify(type)} is not supported: this server has adamw`);
}

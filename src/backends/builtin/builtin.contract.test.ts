// The built-in backend keeps the contract of backends.
import { backendContract } from '../../../test/backend-contract.ts';

backendContract({
  backend: 'builtin',
  config: () => ({
    taskset: 'digit-sum',
    prompts_per_step: 1,
    num_generations: 24,
    max_steps: 150,
    learning_rate: 0.5,
    beta: 0.02,
    eval: { every_steps: null },
    save: { every_steps: null, best: null },
  }),
  ignored: ['model=x', 'chat_template=auto.jinja', 'lora.r=4', 'loss_type=dr_grpo', 'max_grad_norm=3', 'compute=modal'],
});

// What the contract of backends asks of backend tinker, whichever server it has.

export const tinkerBackend = {
  backend: 'tinker',
  ignored: [
    'compute=modal',
    'lora=null',
    'lora.alpha=16',
    'adapter=x',
    'temperature=0.5',
    'min_p=0.1',
    'top_entropy_quantile=0.5',
    'entropy_coef=0.1',
    'max_grad_norm=0.5',
  ],
  untold: ['entropy', 'grad_norm', 'top_logprobs'],
  rounding: 1e-4,
} as const;

# A model in TRL's trainer: sampled while the trainer waits, trained one step at a time, saved and loaded as TRL does.
import contextlib
import errno
import json
import os
import shutil
import tempfile
import threading

import torch
from accelerate import DistributedType
from peft import LoraConfig
from transformers import AutoTokenizer, BitsAndBytesConfig
from trl import GRPOConfig
from trl.trainer.utils import add_fused_lm_head, create_model_from_path, pad

from ..channel import WorkerError
from . import adapters, ranks
from .sampler import Ends, sample, text_logprobs
from .stepwise_trainer import StepwiseTrainer

# Files that TRL's trainer writes into a checkpoint and that Gradus does not keep.
UNWANTED = {"README.md", "training_args.bin", "zero_to_fp32.py", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", adapters.REFERENCE}


class Engine:
    def __init__(self):
        """`open` sets all of these, and must be called first."""
        self.trainer = None
        self.path = None  # the folder of the model
        self.model_kwargs = None  # how transformers is to load it
        self.name = None  # the model's name in the configuration
        self.is_peft = None  # whether adapters are trained
        self.replicated = None  # whether each process has the whole model
        self.reference = None  # the weights that full fine-tuning started from, once they are needed
        self.thread = None  # runs the trainer, from the first step on

    def open(self, model, name, grpo, lora, quantization, adapter, trainable, kl_estimator):
        """Reads the model; the trainer begins with the first step."""
        on_gpu = torch.cuda.is_available()
        if not on_gpu and (grpo["bf16"] is True or grpo["use_vllm"] or quantization):
            hint = "use a machine with an NVIDIA GPU, or compute: modal"
            raise WorkerError("GPU_MISSING", "trl.bf16, trl.use_vllm and trl.load_in_4bit need a GPU, and PyTorch finds none", hint, "not_ready")
        grpo = resolved(grpo, bf16=on_gpu and torch.cuda.is_bf16_supported(), gradient_checkpointing=on_gpu)
        # JSON writes 0.0 as 0, and PyTorch refuses an integer beside a float.
        grpo |= {name: float(grpo[name]) for name in ("adam_beta1", "adam_beta2")}
        # Weights that are trained are float32: bfloat16 would lose small updates.
        self.path, self.model_kwargs = model, {"dtype": "bfloat16" if lora and grpo["bf16"] else "float32"}
        scratch = tempfile.mkdtemp(prefix="gradus-trl-")
        config = GRPOConfig(output_dir=scratch, use_cpu=not on_gpu, model_init_kwargs=self.model_kwargs, **grpo)
        self.trainer = StepwiseTrainer(
            model=model,
            args=config,
            processing_class=AutoTokenizer.from_pretrained(model, padding_side="left"),
            # Tied embeddings stay tied when a copy of them is trained.
            peft_config=LoraConfig(task_type="CAUSAL_LM", ensure_weight_tying=bool(lora["modules_to_save"]), **lora) if lora else None,
            quantization_config=BitsAndBytesConfig(**quantization) if quantization else None,
            trainable=trainable,
            kl_estimator=kl_estimator,
        )
        shutil.rmtree(scratch, ignore_errors=True)
        if getattr(self.trainer.model.config.get_text_config(), "num_local_experts", None) == 0:
            self.trainer.aux_loss_enabled = False  # dense models of a family that also has experts, such as Granite 4; TRL looks at the family alone
        self.name, self.is_peft = name, lora is not None
        self.replicated = self.trainer.accelerator.distributed_type in (DistributedType.NO, DistributedType.MULTI_GPU, DistributedType.MULTI_CPU)
        ranks.assert_split(self.trainer.accelerator)
        plugin = None if self.replicated else getattr(self.trainer.accelerator.state, "fsdp_plugin", None)
        if plugin:
            # Accelerate's default, a file for each process, leaves no weights that one process can read. It keeps existing configurations.
            plugin.state_dict_config = plugin.optim_state_dict_config = None
            plugin.set_state_dict_type("FULL_STATE_DICT")
        deepspeed = None if self.replicated else getattr(self.trainer.accelerator.state, "deepspeed_plugin", None)
        if deepspeed:
            # Without this, ZeRO 3 saves no weights that one process can read.
            deepspeed.deepspeed_config["zero_optimization"]["stage3_gather_16bit_weights_on_model_save"] = True
        if trainable is not None and not self.replicated:
            hint = "leave one of them out"
            raise WorkerError("CONFIG_CONFLICT", "trainable does not go with models that are split among processes (trl.accelerate_config)", hint)
        if adapter is not None:
            self._start_from(adapter)
        # Those of a model that was open before do not belong to this one.
        self.reference = self.thread = None
        # PEFT keeps the original of each of modules_to_save; only the trained copy is counted.
        parameters = [p for name, p in self.trainer.model.named_parameters() if ".original_module." not in name and not adapters.is_reference(name)]
        return {
            "parameters": {
                "total": sum(p.numel() for p in parameters),
                "trainable": sum(p.numel() for p in parameters if p.requires_grad),
            },
            "context_length": self.trainer.model.config.get_text_config().max_position_embeddings,
            "device": str(self.trainer.accelerator.device),
        }

    def sample(self, options, call):
        with self._resting() as model:
            # Processes that share a split model must do the same steps: nothing is cut short.
            is_cancelled = (lambda: call.cancelled) if call and self.replicated else (lambda: False)
            if self.trainer.use_vllm:
                work = lambda requests: self._sample_with_vllm(requests, options)
            else:
                ends = Ends(self.trainer.processing_class, options["stop_ids"], options["stop_texts"])
                work = lambda requests: sample(model, requests, options, ends, is_cancelled)
            return ranks.shared(options["requests"], work, self.replicated)

    def _sample_with_vllm(self, requests, options):
        """Samples through TRL's own vLLM client, with the current weights. vLLM uses its own random numbers, and reports log-probabilities
        only after temperature and filters."""
        trainer, vllm = self.trainer, self.trainer.vllm_generation
        if trainer._last_loaded_step != trainer.state.global_step:
            vllm.sync_weights()
            trainer._last_loaded_step = trainer.state.global_step
        vllm.max_completion_length = max(request["max_tokens"] for request in requests)
        for name in ("temperature", "top_k", "top_p", "min_p", "repetition_penalty"):
            setattr(vllm, name, options[name])
        # With the text of special tokens, as elsewhere. A completion ends with the token that completes a stop text, which Gradus reads up to.
        vllm.generation_kwargs = {"stop": options["stop_texts"], "skip_special_tokens": False} if options["stop_texts"] else {}
        _, completions, logprobs, _ = vllm.generate([request["prompt_ids"] for request in requests], None, num_generations=1)
        answers = []
        for request, ids, told in zip(requests, completions, logprobs):
            ids, told = ids[: request["max_tokens"]], [values[0] or 0.0 for values in told[: request["max_tokens"]]]
            reason = "stop" if ids[-1] in options["stop_ids"] else "length"
            answers.append({"ids": ids, "logprobs": told, "plain_logprobs": told, "finish_reason": reason})
        return answers

    def text_logprobs(self, texts, top_logprobs, call):
        with self._resting() as model:
            is_cancelled = (lambda: call.cancelled) if call and self.replicated else (lambda: False)
            read = lambda part: [text_logprobs(model, ids, top_logprobs, is_cancelled) for ids in part]
            return ranks.shared(texts, read, self.replicated)

    def logprobs(self, sequences, weights):
        with self._resting():
            if weights == "current":
                return self._scores(self.trainer.model, sequences)
            if self.is_peft:
                with adapters.as_at_the_start(self.trainer.accelerator.unwrap_model(self.trainer.model)):
                    return self._scores(self.trainer.model, sequences)
            return self._scores(self._reference(), sequences)

    def update(self, rows, tokens_per_update, learning_rate, supervised):
        self._start()
        outcome = self.trainer.request(rows, tokens_per_update, learning_rate, supervised)
        return {"metrics": outcome["metrics"], "logprobs": ranks.gathered(outcome["logprobs"])}

    def save(self, directory):
        self._start()
        self.trainer.args.output_dir = directory
        try:
            self.trainer._save_checkpoint(self.trainer.model_wrapped, trial=None)
        except RuntimeError as error:
            # PyTorch does not say why it could not write.
            if shutil.disk_usage(directory).free < 2**20:
                raise OSError(errno.ENOSPC, f"no space left on the disk of {directory}") from error
            raise
        ranks.wait()
        if ranks.RANK > 0:
            return
        written = os.path.join(directory, f"checkpoint-{self.trainer.state.global_step}")
        for file in os.listdir(written):
            if file not in UNWANTED:
                os.replace(os.path.join(written, file), os.path.join(directory, file))
        shutil.rmtree(written)
        if self.is_peft:
            tidy(os.path.join(directory, "adapter_config.json"), self.name)

    def load(self, directory, weights_only):
        if self.is_peft and self.replicated:
            adapters.assert_fits(directory, self.trainer.model)
        resumes = not weights_only and os.path.exists(os.path.join(directory, "trainer_state.json"))
        if self.thread and not resumes and self._parts() and self.trainer.state.global_step == 0:
            self._load_weights(directory)
            self.trainer.model_wrapped.optimizer.refresh_fp32_params()
            return
        if self.thread:
            self.trainer.stop()
            self.thread.join()
            self.thread = None
        self.trainer.optimizer = self.trainer.lr_scheduler = None
        if resumes:
            self._start(directory)
            self.trainer._load_rng_state(directory)
        else:
            self._load_weights(directory)

    def _load_weights(self, directory):
        trained = [parameter for parameter in self._parts() if parameter.requires_grad]
        if not trained:
            self.trainer._load_from_checkpoint(directory)
            return
        from deepspeed import zero

        with zero.GatheredParameters(trained, modifier_rank=0):
            self.trainer._load_from_checkpoint(directory)

    def _parts(self):
        """Parameters of which ZeRO 3 gave this process a part."""
        return [parameter for parameter in self.trainer.model.parameters() if hasattr(parameter, "ds_numel")]

    def _start_from(self, adapter):
        if not self.replicated:
            hint = "merge the adapter into the model, and start from that"
            raise WorkerError("CONFIG_CONFLICT", "adapter does not go with models that are split among processes (trl.accelerate_config)", hint)
        adapters.assert_fits(adapter, self.trainer.model)
        self.trainer._load_from_checkpoint(adapter)
        adapters.keep_reference(self.trainer.model)

    @contextlib.contextmanager
    def _resting(self):
        """The model between two steps: without dropout and gradients, in the precision of training."""
        if self._parts():
            self._start()  # only then does DeepSpeed put a layer together when it is needed
        model = self.trainer.accelerator.unwrap_model(self.trainer.model_wrapped)
        model.eval()
        try:
            with torch.no_grad(), self.trainer.accelerator.autocast():
                yield model
        finally:
            model.train()

    def _scores(self, model, sequences):
        return ranks.shared(sequences, lambda part: self._score(model, part), self.replicated)

    def _score(self, model, sequences):
        """Log-probabilities of completion tokens, as the loss computes them."""
        scores = []
        size = self.trainer.args.per_device_train_batch_size
        for start in range(0, len(sequences), size):
            part = sequences[start : start + size]
            prompts = [torch.tensor(sequence["prompt_ids"]) for sequence in part]
            completions = [torch.tensor(sequence["completion_ids"]) for sequence in part]
            ids, mask = (
                torch.cat([pad(prompt, padding_side="left"), pad(completion, padding_side="right")], dim=1).to(self.trainer.accelerator.device)
                for prompt, completion in ((prompts, completions), (ones_like(prompts), ones_like(completions)))
            )
            width = max(map(len, completions))
            logprobs = self.trainer._get_per_token_logps_and_entropies(model, ids, mask, width)[0].float().tolist()
            scores += [row[: len(completion)] for row, completion in zip(logprobs, completions)]
        return scores

    def _reference(self):
        """The weights that full fine-tuning started from."""
        if self.reference is None:
            self.reference = self.trainer.ref_model
        if self.reference is None:
            self.reference = create_model_from_path(self.path, **self.model_kwargs).to(self.trainer.accelerator.device)
            add_fused_lm_head(self.reference, temperature=self.trainer.temperature)
        return self.reference

    def _start(self, checkpoint=None):
        """Runs the trainer until it waits for its first step."""
        if self.thread is None:
            self.thread = threading.Thread(target=self.trainer.run, args=[checkpoint], daemon=True)
            self.thread.start()
            self.trainer.ready()
            if not self.replicated:
                ranks.tell_share(self.trainer.model_wrapped)


def resolved(grpo, **automatic):
    """TRL's settings with each `auto` replaced by its value on this machine."""
    return grpo | {name: value for name, value in automatic.items() if grpo[name] == "auto"}


def tidy(path, name):
    """Rewrites adapter_config.json: the base model by its name in the configuration, and sets in the same order in every run."""
    with open(path) as file:
        config = json.load(file)
    if isinstance(config["target_modules"], list):
        config["target_modules"].sort()
    with open(path, "w") as file:
        json.dump(config | {"base_model_name_or_path": name}, file, indent=2)


def ones_like(sequences):
    return [torch.ones_like(sequence) for sequence in sequences]

# The trained model and its tokenizer with the interface of transformers, for environments. The training process does the work. Tensors are lists.


class Ids(list):
    """Token ids of a batch: a list of lists that knows its shape."""

    @property
    def shape(self):
        return (len(self), len(self[0]) if self and isinstance(self[0], list) else 0)

    def to(self, _device):
        return self


class Encoding(dict):
    """What a tokenizer returns: `input_ids` and `attention_mask`, as keys or attributes."""

    __getattr__ = dict.__getitem__

    def to(self, _device):
        return self


class Tokenizer:
    def __init__(self, call):
        self._call = call

    def __getattr__(self, name):
        """`eos_token_id`, `pad_token` and the like: None if the model has no such token."""
        role, _, suffix = name.partition("_token")
        if role not in ("bos", "eos", "pad", "unk") or suffix not in ("", "_id"):
            raise AttributeError(f"the tokenizer has no {name} here")
        return self._call("special_token", {"role": f"{role}_token"})["id" if suffix else "token"]

    def __call__(self, text, **_options):
        """One text or a list of them, not padded."""
        texts = [text] if isinstance(text, str) else text
        ids = Ids(self.encode(one) for one in texts)
        return Encoding(input_ids=ids, attention_mask=Ids([1] * len(one) for one in ids))

    def encode(self, text, add_special_tokens=True):
        return self._call("encode", {"text": text, "special": add_special_tokens})

    def decode(self, token_ids, skip_special_tokens=False):
        return self._call("decode", {"ids": list(token_ids), "skip_special": skip_special_tokens})

    def batch_decode(self, sequences, skip_special_tokens=False):
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    def apply_chat_template(
        self, conversation, tools=None, tokenize=True, return_dict=False, return_tensors=None, **_options
    ):
        """The ids of a conversation that the assistant continues, as a batch of one if tensors are requested; or its text."""
        ids = self._call("render", {"messages": conversation, "tools": tools or []})
        if not tokenize:
            return self.decode(ids)
        if return_dict:
            return Encoding(input_ids=Ids([ids]), attention_mask=Ids([[1] * len(ids)]))
        return ids if return_tensors is None else Ids([ids])


class Model:
    device = "cpu"

    def __init__(self, call):
        self._call = call

    def eval(self):
        """Changes nothing: sampling never uses dropout."""
        return self

    def generate(self, input_ids, max_new_tokens=256, do_sample=True, temperature=1.0, top_p=1.0, top_k=0, **_options):
        """Each prompt with the policy's continuation, as a list of ids. `do_sample=False` takes the likeliest tokens."""
        prompts = [list(ids) for ids in (input_ids if isinstance(input_ids[0], list) else [input_ids])]
        temperature = temperature if do_sample else 0.0
        sampling = {"max_tokens": max_new_tokens, "temperature": temperature, "top_p": top_p, "top_k": top_k or 0}
        completions = self._call("generate", {"prompts": prompts, **sampling})
        return Ids(prompt + completion for prompt, completion in zip(prompts, completions))

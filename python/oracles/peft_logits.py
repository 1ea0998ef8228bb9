# Logits of a Hugging Face model folder under an adapter in PEFT's format, as transformers and peft compute them in float32.
#
# usage: python peft_logits.py MODEL_FOLDER ADAPTER_FOLDER      stdin: {"ids": [[…], …]}      stdout: {"logits": [sequence][position][token]}
import sys
import warnings

from logits import answer, load
from peft import PeftModel

# peft only warns about tensors that an adapter lacks; an oracle must fail.
warnings.filterwarnings("error", message=".*missing adapter keys.*")

if __name__ == "__main__":
    answer(PeftModel.from_pretrained(load(sys.argv[1]), sys.argv[2]))

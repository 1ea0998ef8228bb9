# Runs other files of this folder, one after another in one process: importing PyTorch and transformers takes longer than most of their answers.
#
# usage: python answer_all.py      stdin, a line each: {"script": "logits.py", "arguments": […], "input": "…"}
#                                  stdout, a line each: {"output": "…"}, what the script prints, or {"error": "…"}, its traceback
import io
import json
import runpy
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path

questions, answers = sys.stdin, sys.stdout
for line in questions:
    question = json.loads(line)
    script = str(Path(__file__).with_name(question["script"]))
    sys.argv = [script, *question["arguments"]]
    sys.stdin = io.StringIO(question["input"])
    with redirect_stdout(io.StringIO()) as output:
        try:
            runpy.run_path(script, run_name="__main__")
            answer = {"output": output.getvalue()}
        except BaseException:  # a script that exits early has failed, too
            answer = {"error": traceback.format_exc()}
    print(json.dumps(answer), file=answers, flush=True)

# What transformers renders with the chat templates that TRL has, which are those of the models that it trains.
#
# usage: python render_templates.py      stdin: [{"messages": […], "tools": […] or null, "add_generation_prompt": …}]
# stdout: {name: {"template": …, "texts": [text, or null where it is refused]}}
import json
import sys
from datetime import datetime
from pathlib import Path

import trl
from transformers.utils.chat_template_utils import render_jinja_template

conversations = json.load(sys.stdin)


def rendered(template, conversation):
    try:
        texts, _ = render_jinja_template(
            conversations=[conversation["messages"]],
            tools=conversation["tools"],
            chat_template=template,
            add_generation_prompt=conversation["add_generation_prompt"],
            bos_token="<BOS>",
            eos_token="<EOS>",
            date_string="26 Jul 2024",
            strftime_now=datetime(2024, 7, 26).strftime,
        )
    except Exception:
        return None
    return texts[0]


answers = {}
for path in sorted(Path(trl.__path__[0], "chat_templates").glob("*.jinja")):
    template = path.read_text()
    answers[path.stem] = {"template": template, "texts": [rendered(template, each) for each in conversations]}
json.dump(answers, sys.stdout)

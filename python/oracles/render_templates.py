# Renders conversations with transformers and TRL's chat templates, which are those of the models that it trains.
#
# usage: python render_templates.py      stdin: {"templates": {name: more templates}, "conversations": [{"messages": […], "tools": […] or null,
#     "add_generation_prompt": …, "variables": {…}}]}
# stdout: {name: {"template": …, "texts": [text, or null where it is refused]}}
import json
import sys
from datetime import datetime
from pathlib import Path

import trl
from transformers.utils import chat_template_utils

asked = json.load(sys.stdin)


class ThatDay(datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26)


chat_template_utils.datetime = ThatDay


def rendered(template, conversation):
    try:
        texts, _ = chat_template_utils.render_jinja_template(
            conversations=[conversation["messages"]],
            tools=conversation["tools"],
            chat_template=template,
            add_generation_prompt=conversation["add_generation_prompt"],
            bos_token="<BOS>",
            eos_token="<EOS>",
            **{"date_string": "26 Jul 2024", **conversation["variables"]},
        )
    except Exception:
        return None
    return texts[0]


templates = {path.stem: path.read_text() for path in sorted(Path(trl.__path__[0], "chat_templates").glob("*.jinja"))}
answers = {
    name: {"template": template, "texts": [rendered(template, each) for each in asked["conversations"]]}
    for name, template in {**templates, **asked["templates"]}.items()
}
json.dump(answers, sys.stdout)

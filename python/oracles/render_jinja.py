# Renders templates with transformers' sandboxed Jinja.
#
# usage: python render_jinja.py      stdin: {"templates": […], "variables": […]}, whose variables each template is rendered with
# stdout: for each template a list of [text, or null where it is refused, and why]
import json
import sys
from copy import deepcopy
from datetime import datetime

from transformers.utils.chat_template_utils import _compile_jinja_template

asked = json.load(sys.stdin)


def rendered(template, variables):
    try:
        compiled = _compile_jinja_template(template)
        return [compiled.render(**deepcopy(variables), strftime_now=datetime(2024, 7, 26).strftime), None]
    except Exception as error:
        return [None, f"{type(error).__name__}: {error}"[:200]]


json.dump([[rendered(each, variables) for variables in asked["variables"]] for each in asked["templates"]], sys.stdout)

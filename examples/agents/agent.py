"""An agent in another language: a Python script that needs no package. `gradus train examples/agents/python.yaml` starts it once for each episode.

It finds its row on stdin, and the model where OpenAI's and Anthropic's clients look for it. The last line that it prints is its result.
"""

import json
import os
import sys
import urllib.request

TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "The sum of two numbers",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
}


def chat(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "any", "messages": messages, "tools": [TOOL]}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


def add(arguments):
    try:
        given = json.loads(arguments)
        return str(given["a"] + given["b"])
    except (KeyError, TypeError) as error:
        return f"error: {error}"


row = json.loads(sys.stdin.read())
messages = [{"role": "user", "content": row["question"]}]
while True:
    message = chat(messages)
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        answer = add(call["function"]["arguments"])
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})

text = message["content"]
print(json.dumps({"text": text, "scores": {"correct": float(text == row["answer"])}}))

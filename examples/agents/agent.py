"""An agent in another language: a Python script that needs no package. `gradus train examples/agents/python.yaml` starts it once for each episode.

It finds its row on stdin, and the model where OpenAI's and Anthropic's clients look for it. The last line that it prints is its result. kept.py is the same
agent in a process that plays many episodes.
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


def chat(messages, base_url, api_key):
    request = urllib.request.Request(
        base_url + "/chat/completions",
        json.dumps({"model": "any", "messages": messages, "tools": [TOOL]}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + api_key},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


def add(arguments):
    try:
        given = json.loads(arguments)
        return str(given["a"] + given["b"])
    except (KeyError, TypeError) as error:
        return f"error: {error}"


def play(row, base_url, api_key):
    messages = [{"role": "user", "content": row["question"]}]
    while True:
        message = chat(messages, base_url, api_key)
        messages.append(message)
        if not message.get("tool_calls"):
            break
        for call in message["tool_calls"]:
            answer = add(call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})
    text = message["content"]
    return {"text": text, "scores": {"correct": float(text == row["answer"])}}


if __name__ == "__main__":
    row = json.loads(sys.stdin.read())
    print(json.dumps(play(row, os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"])))

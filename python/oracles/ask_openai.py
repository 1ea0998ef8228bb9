# Prints what OpenAI's own Python client gets from a server.
#
# usage: python ask_openai.py BASE_URL MODEL
# stdout: {"models", "whole", "streamed", "response", "response_streamed", "completion", "error"}
import json
import sys

import openai

base_url, model = sys.argv[1:]
client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
question = {"model": model, "messages": [{"role": "user", "content": "what is 2 + 3"}], "max_tokens": 16, "seed": 1}
try:
    client.chat.completions.create(**{**question, "model": "another"})
    error = None
except openai.NotFoundError as caught:
    error = caught.code
asked = {"model": model, "input": "what is 2 + 3", "max_output_tokens": 16, "extra_body": {"seed": 1}}
events = client.responses.create(**asked, stream=True)
chunks = client.chat.completions.create(**question, stream=True)
json.dump(
    {
        "models": [listed.id for listed in client.models.list()],
        "whole": client.chat.completions.create(**question).choices[0].message.content,
        "streamed": "".join(chunk.choices[0].delta.content or "" for chunk in chunks),
        "response": client.responses.create(**asked).output_text,
        "response_streamed": "".join(event.delta for event in events if event.type == "response.output_text.delta"),
        "completion": client.completions.create(model=model, prompt="1+1=", max_tokens=4).usage.completion_tokens,
        "error": error,
    },
    sys.stdout,
)

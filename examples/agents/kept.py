"""The agent of agent.py in a process that is kept: it is told of each episode in a line on stdin, and answers in a line on stdout.

    gradus train examples/agents/python.yaml --set 'environment={command: [python3, kept.py], keep: true, scores: [correct]}'
"""

import json
import sys

from agent import play

for line in sys.stdin:
    told = json.loads(line)
    try:
        answer = {"result": play(told["row"], told["base_url"], told["api_key"])}
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps({"id": told["id"], **answer}), flush=True)

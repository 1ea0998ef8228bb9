# Says whether values conform to their schemas, by the package `jsonschema`.
#
# usage: python json_schema_validity.py      stdin: [{"schema": …, "values": [JSON text, …]}, …]
# stdout: [[true, false, …], …]; null for an invalid schema, and for a value on which the package itself fails
import json
import sys

from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator, validator_for



def verdict(judge, value):
    try:
        return judge.is_valid(json.loads(value))
    except TypeError:  # additionalItems beside a boolean items
        return None


answers = []
for case in json.load(sys.stdin):
    validator = validator_for(case["schema"], default=Draft202012Validator)
    try:
        validator.check_schema(case["schema"])
    except SchemaError:
        answers.append(None)
        continue
    judge = validator(case["schema"])
    answers.append([verdict(judge, value) for value in case["values"]])
json.dump(answers, sys.stdout)

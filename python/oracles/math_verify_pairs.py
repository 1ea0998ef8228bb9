# Judges answers with the package `math-verify`.
#
# usage: python math_verify_pairs.py      stdin: [{"gold": …, "completion": …}, …]      stdout: [true, false, …]
import json
import logging
import sys

from math_verify import parse, verify

logging.disable(logging.CRITICAL)
pairs = json.load(sys.stdin)
json.dump([bool(verify(parse(pair["gold"]), parse(pair["completion"]))) for pair in pairs], sys.stdout)

# Starts the worker, or says that this Python is too old; any Python 3 can read this file.
import json
import os
import sys


def start(memory):
    if sys.version_info < (3, 10):
        message = "Python %d.%d is too old for rewards and environments: 3.10 or later is needed" % sys.version_info[:2]
        print(json.dumps({"fatal": {"code": "PYTHON_TOO_OLD", "message": message, "kind": "not_ready"}}))
        return
    from .memory import limit_memory
    from .worker import main

    limit_memory(memory)
    # From here on, users' imports are found as if they ran a script here.
    sys.path.append(sys.path.pop(0))
    sys.path.insert(0, os.getcwd())
    main()

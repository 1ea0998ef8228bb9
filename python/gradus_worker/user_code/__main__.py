# usage: PYTHONPATH=python python3 -m gradus_worker.user_code
import json
import sys

if __name__ == "__main__":
    if sys.version_info < (3, 10):
        message = "Python %d.%d is too old for rewards and environments: 3.10 or later is needed" % sys.version_info[:2]
        print(json.dumps({"fatal": {"code": "PYTHON_TOO_OLD", "message": message, "kind": "not_ready"}}))
        sys.exit()
    from .worker import main

    main()

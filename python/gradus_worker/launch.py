# Starts a launcher of several workers, such as torchrun or accelerate's: python -m gradus_worker.launch MODULE [ARGUMENT ...]
#
# What the launcher itself prints, as DeepSpeed does on import, goes to stderr: stdout belongs to the first worker, which talks to Gradus.
import runpy
import sys

sys.stdout = sys.stderr
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

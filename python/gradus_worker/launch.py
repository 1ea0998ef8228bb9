# Starts a launcher of several workers, such as torchrun or accelerate's: python -m gradus_worker.launch MODULE [ARGUMENT ...]
#
# What the launcher prints itself, as DeepSpeed does when it is imported, goes to stderr: its stdout is that of the first worker, which speaks with Gradus.
import runpy
import sys

sys.stdout = sys.stderr
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

# Makes the Python environment of the TRL worker from one of its locks: the complete one, or the one for Linux without a GPU.
#
# usage: python3 install.py ENVIRONMENT      (fetches uv if it is missing; without a GPU it needs cc and readelf)
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

UV = "uv==0.13.8"


def find_uv(folder):
    """The path of uv: the machine's, or one that is installed into a folder."""
    if found := shutil.which("uv"):
        return found
    if not (folder / "bin" / "uv").exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", UV], check=True)
    return folder / "bin" / "uv"


def main(environment):
    folder = Path(__file__).resolve().parent
    stubs = sys.platform == "linux" and shutil.which("nvidia-smi") is None
    command = [find_uv(environment.parent / "uv"), "sync", "--quiet", "--frozen", "--python", "3.11", "--compile-bytecode"]
    project = ["--project", folder / "cpu" if stubs else folder]
    extras = [] if stubs or sys.platform == "darwin" else ["--extra", "quantized"]
    variables = os.environ | {"UV_PROJECT_ENVIRONMENT": str(environment)}
    variables.pop("VIRTUAL_ENV", None)
    subprocess.run(command + project + extras, env=variables, check=True)
    if stubs:
        packages = environment / "lib" / "python3.11" / "site-packages"
        subprocess.run([environment / "bin" / "python", folder.parent / "cuda_stubs.py", packages], check=True)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]).resolve())
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"install.py: {error}")

# Makes stand-ins for the NVIDIA libraries that PyPI's Linux torch wheel links to, so that torch imports on a machine without a GPU
# and without 2.6 GB of nvidia-* wheels. Every function returns 100, cudaErrorNoDevice: torch then reports no CUDA device.
#
# usage: python cuda_stubs.py SITE_PACKAGES      (needs cc, and readelf from binutils; running it again is harmless)
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

NO_DEVICE = 100
SYSTEM_LIBRARY = re.compile(r"^(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|ld-linux.*|libgomp|libgfortran|libutil)\.so")
DRIVER = "libcuda.so.1"  # torch opens it lazily and copes with its absence
UNVERSIONED = {  # libraries whose symbols carry no version are told apart by prefix
    "nccl": "libnccl.so.2",
    "cusparseLt": "libcusparseLt.so.0",
    "cuFile": "libcufile.so.0",
    "nvshmem": "libnvshmem_host.so.3",
    "cudnn": "libcudnn.so.9",
}
MESSAGE = 'const char *const stub_message = "no CUDA on this machine";'


def readelf(option, library):
    return subprocess.run(["readelf", "-W", option, library], capture_output=True, text=True, check=True).stdout


def missing_symbols(shipped):
    """{soname: {(symbol, version or None, kind)}} for every library that the shipped ones need and the wheel does not bring along."""
    shipped_names = {library.name for library in shipped}
    needed, symbols = set(), collections.defaultdict(set)
    for library in (path for path in shipped if path.suffix == ".so"):
        wanted = re.findall(r"\(NEEDED\).*\[(.+?)\]", readelf("-d", library))
        needed |= {name for name in wanted if not SYSTEM_LIBRARY.match(name) and name not in shipped_names}
        providers, provider = {}, None  # version name -> the library it is asked of
        for line in readelf("-V", library).splitlines():
            if match := re.search(r"File: (\S+)", line):
                provider = match[1]
            elif provider and (match := re.search(r"Name: (\S+)\s+Flags", line)):
                providers[match[1]] = provider
        for line in readelf("--dyn-syms", library).splitlines():
            columns = line.split()
            if len(columns) < 8 or columns[6] != "UND":
                continue
            name, _, version = columns[7].partition("@")
            version = version.lstrip("@")
            soname = providers.get(version) if version else next((so for prefix, so in UNVERSIONED.items() if name.startswith(prefix)), None)
            if soname:
                symbols[soname].add((name, version or None, columns[3]))
    needed.discard(DRIVER)
    return {soname: symbols[soname] for soname in sorted(needed)}


def stub_source(symbols, cudnn):
    lines = [MESSAGE]
    for name, _, kind in sorted(symbols, key=lambda symbol: symbol[0]):
        if kind == "OBJECT":
            lines.append(f"void *{name}[64];")
        elif re.search(r"GetErrorString|GetErrorName|GetLastErrorString$", name):
            lines.append(f"const char *{name}(void) {{ return stub_message; }}")
        elif name == "cudnnGetVersion":  # torch.backends.cudnn.version() compares it with the version torch was built for
            lines.append(f"unsigned long {name}(void) {{ return {cudnn[0] * 10000 + cudnn[1] * 100 + cudnn[2]}; }}")
        elif name == "cudnnGetProperty":
            lines.append(f"int {name}(int which, int *value) {{ *value = which == 0 ? {cudnn[0]} : which == 1 ? {cudnn[1]} : {cudnn[2]}; return 0; }}")
        else:
            lines.append(f"long {name}(void) {{ return {NO_DEVICE}; }}")
    return "\n".join(lines) + "\n"


def compile_stub(path, symbols, cudnn):
    by_version = collections.defaultdict(list)
    for name, version, _ in sorted(symbols, key=lambda symbol: symbol[0]):
        by_version[version].append(name)
    with tempfile.TemporaryDirectory() as folder:
        source, script = Path(folder, "stub.c"), Path(folder, "stub.map")
        source.write_text(stub_source(symbols, cudnn))
        versions = {version: names for version, names in by_version.items() if version}
        script.write_text("".join(f"{version} {{ global: {' '.join(name + ';' for name in names)} }};\n" for version, names in versions.items()))
        command = ["cc", "-shared", "-fPIC", "-O1", "-w", "-fno-builtin", f"-Wl,-soname,{path.name}", "-o", path, source]
        subprocess.run(command + ([f"-Wl,--version-script={script}"] if versions else []), check=True)


def main(site_packages):
    record = next(site_packages.glob("torch-*.dist-info/RECORD")).read_text()
    metadata = next(site_packages.glob("torch-*.dist-info/METADATA")).read_text()
    shipped = [site_packages / name for name in re.findall(r"^(torch/lib/[^/,]+)", record, re.MULTILINE)]
    version = re.search(r"nvidia-cudnn-cu\d+==(\d+)\.(\d+)\.(\d+)", metadata)
    cudnn = tuple(map(int, version.groups())) if version else (9, 0, 0)
    missing = missing_symbols(shipped)
    for soname, symbols in missing.items():
        compile_stub(site_packages / "torch" / "lib" / soname, symbols, cudnn)
    print(f"cuda_stubs: {len(missing)} stand-ins, {sum(map(len, missing.values()))} symbols")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

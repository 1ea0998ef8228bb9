# What native libraries (ELF, Mach-O, PE) export, import and ask of the system: one JSON object a line for each file that is named. Needs lief.
import hashlib
import json
import struct
import sys

import lief

lief.logging.disable()
SUPERBLOB, DIRECTORY = 0xFADE0CC0, 0xFADE0C02
SHA256 = 2


def of_elf(library):
    def imported(symbol):
        version = symbol.symbol_version
        auxiliary = version.symbol_version_auxiliary if version and version.has_auxiliary_version else None
        return {"name": symbol.name, "version": auxiliary.name if auxiliary else None}

    return {
        "imports": [imported(symbol) for symbol in library.imported_symbols if symbol.name],
        "libraries": list(library.libraries),
        "architecture": library.header.machine_type.name,
    }


def of_macho(library, content):
    dylibs = {command.name for command in library.libraries}
    own = next(c.name for c in library.commands if c.command == lief.MachO.LoadCommand.TYPE.ID_DYLIB)
    return {
        "imports": [{"name": symbol.name.removeprefix("_"), "version": None} for symbol in library.imported_symbols],
        "libraries": sorted(dylibs - {own}),
        "architecture": library.header.cpu_type.name,
        "own_name": own,
        "oldest_system": ".".join(str(part) for part in library.build_version.minos),
        "signed": library.has_code_signature and is_signed(library.code_signature, content),
    }


def is_signed(signature, content):
    """Whether the hashes of all pages are right: systems on Apple silicon end a process that loads something else."""
    blob = content[signature.data_offset : signature.data_offset + signature.data_size]
    magic, _, count = struct.unpack_from(">III", blob)
    if magic != SUPERBLOB:
        return False
    for i in range(count):
        _, start = struct.unpack_from(">II", blob, 12 + 8 * i)
        if struct.unpack_from(">I", blob, start)[0] == DIRECTORY:
            hashes, _, _, pages, limit, size, kind, _, log_page = struct.unpack_from(">IIIIIBBBB", blob, start + 16)
            page = 1 << log_page
            places = range(0, limit, page)
            found = [blob[start + hashes + size * n :][:size] for n in range(pages)]
            wanted = [hashlib.sha256(content[at : min(at + page, limit)]).digest() for at in places]
            return kind == SHA256 and limit == signature.data_offset and found == wanted
    return False


def of_pe(library):
    return {
        "imports": [
            {"name": entry.name, "version": part.name.lower()} for part in library.imports for entry in part.entries
        ],
        "libraries": [part.name.lower() for part in library.imports],
        "architecture": library.header.machine.name,
    }


for path in sys.argv[1:]:
    with open(path, "rb") as file:
        content = file.read()
    library = lief.parse(path)
    if isinstance(library, lief.ELF.Binary):
        found = of_elf(library)
    elif isinstance(library, lief.MachO.Binary):
        found = of_macho(library, content)
    elif isinstance(library, lief.PE.Binary):
        found = of_pe(library)
    else:
        sys.exit(f"{path} is no library")
    exports = [function.name.removeprefix("_") for function in library.exported_functions]
    print(json.dumps({"exports": exports, **found}))

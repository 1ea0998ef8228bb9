// What is wrong with a compiled library of kernels: what it must export, and what systems that ONNX Runtime's package runs on may lack.

/** What python/describe_libraries.py says of a library. */
export interface LibraryDescription {
  readonly exports: readonly string[];
  /** With the version of the symbol on Linux, and the library that has it on Windows. */
  readonly imports: readonly { readonly name: string; readonly version: string | null }[];
  readonly libraries: readonly string[];
  readonly architecture: string;
  /** These on macOS alone: its name, by which others find it, the oldest system that loads it, and whether its signature fits. */
  readonly own_name?: string;
  readonly oldest_system?: string;
  readonly signed?: boolean;
}

const exported = ['RegisterCustomOps', 'gradus_request_unit'];
/** Of C's library. Every system has had these for ten years or more; macOS has had `aligned_alloc` since 10.15, and no Apple silicon runs an older one. */
const functionsOfC = [
  'malloc',
  'calloc',
  'free',
  'aligned_alloc',
  'memcpy',
  'memmove',
  'memset',
  'expf',
  'logf',
  'sqrtf',
];
const NEWEST_GLIBC = [2, 17] as const;
const OLDEST_MACOS = 14; // ONNX Runtime's library for macOS needs it
/** What loads any library on macOS, what its compiler makes of memcpy and memset, and the search for Accelerate. */
const functionsOfMacos = ['dyld_stub_binder', '__memcpy_chk', '__memset_chk', 'bzero', 'dlopen', 'dlsym'];

const faults: Readonly<Record<string, (library: LibraryDescription) => string[]>> = {
  linux: ({ imports, libraries }) => [
    ...unknown(libraries, ['libc.so.6', 'libm.so.6'], 'loads'),
    ...unknown(names(imports), [...functionsOfC, 'syscall'], 'imports'),
    ...imports.flatMap(({ name, version }) => (isTooNew(version) ? [`imports ${name} of ${version}`] : [])),
  ],
  darwin: ({ imports, libraries, own_name = '', oldest_system = '', signed = false }) => [
    ...unknown(libraries, ['/usr/lib/libSystem.B.dylib'], 'loads'),
    ...unknown(names(imports), [...functionsOfC, ...functionsOfMacos], 'imports'),
    ...(own_name.startsWith('@rpath/') ? [] : [`is named ${own_name}`]),
    ...(Number.parseFloat(oldest_system) <= OLDEST_MACOS ? [] : [`needs macOS ${oldest_system}`]),
    ...(signed ? [] : ['has no signature that fits']),
  ],
  win32: ({ libraries }) =>
    libraries
      .filter((name) => name !== 'kernel32.dll' && !name.startsWith('api-ms-win-crt-'))
      .map((name) => `loads ${name}, which not every Windows 10 has`),
};

/** @param platform `process.platform`-`process.arch` */
export function libraryFaults(platform: string, library: LibraryDescription): string[] {
  const [system = '', architecture] = platform.split('-');
  const wanted = architecture === 'x64' ? ['X86_64', 'AMD64'] : ['AARCH64', 'ARM64'];
  return [
    ...unknown([library.architecture], wanted, 'is for'),
    ...exported.filter((name) => !library.exports.includes(name)).map((name) => `does not export ${name}`),
    ...faults[system]!(library),
  ];
}

function names(imports: LibraryDescription['imports']): string[] {
  return imports.map(({ name }) => name);
}

function unknown(found: readonly string[], known: readonly string[], verb: string): string[] {
  return found.filter((name) => !known.includes(name)).map((name) => `${verb} ${name}`);
}

function isTooNew(version: string | null): boolean {
  const [, major, minor] = /^GLIBC_(\d+)\.(\d+)/.exec(version ?? '') ?? [];
  return major === undefined || Number(major) > NEWEST_GLIBC[0] || Number(minor) > NEWEST_GLIBC[1];
}

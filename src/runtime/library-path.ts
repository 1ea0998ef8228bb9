// Where the package `onnxruntime-node` keeps ONNX Runtime's shared library, on each platform that it ships for.

const LIBRARIES: Record<string, string> = {
  'linux-x64': 'linux/x64/libonnxruntime.so.1',
  'linux-arm64': 'linux/arm64/libonnxruntime.so.1',
  'darwin-arm64': 'darwin/arm64/libonnxruntime.1.dylib',
  'win32-x64': 'win32/x64/onnxruntime.dll',
  'win32-arm64': 'win32/arm64/onnxruntime.dll',
};

/** Where the tests have run. The others differ in the library alone, and in nothing that is known to matter. */
const TESTED = ['linux-x64'];

export function isTestedPlatform(platform: string, architecture: string): boolean {
  return TESTED.includes(`${platform}-${architecture}`);
}

/** The library's path inside the package's folder, with forward slashes; undefined where the package ships none. */
export function libraryPath(platform: string, architecture: string): string | undefined {
  const library = LIBRARIES[`${platform}-${architecture}`];
  return library && `bin/napi-v6/${library}`;
}

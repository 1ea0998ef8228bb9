// A file on disk as the byte source that formats read from.
import type { FileHandle } from 'node:fs/promises';
import type { ByteSource } from '../../formats/byte-source.ts';

export function fileSource(handle: FileHandle, size: number): ByteSource {
  return {
    size,
    async read(offset, length, into) {
      const wanted = Math.max(0, Math.min(length, size - offset));
      const bytes = into ?? Buffer.allocUnsafe(wanted);
      const { bytesRead } = await handle.read(bytes, 0, wanted, offset);
      return bytes.subarray(0, bytesRead);
    },
  };
}

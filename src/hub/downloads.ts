// Where downloads tell how far they are. They happen deep inside of what asked for a model, and whoever shows them listens here.
import { channel } from 'node:diagnostics_channel';

/** How far the files are that one call fetches; the last message has `bytes` equal to `totalBytes`. */
export interface DownloadProgress {
  /** `model org/name`. */
  readonly what: string;
  readonly files: number;
  readonly bytes: number;
  readonly totalBytes: number;
  /** Where they go. */
  readonly folder: string;
}

const messages = channel('gradus.downloads');

export function tellDownload(progress: DownloadProgress): void {
  messages.publish(progress);
}

/** Returns what ends it. */
export function onDownload(listener: (progress: DownloadProgress) => void): () => void {
  const listen = (message: unknown) => listener(message as DownloadProgress);
  messages.subscribe(listen);
  return () => messages.unsubscribe(listen);
}

// gradus/formats: file formats, bytes in and values out. Invalid files are a `FormatError`.

export { type ByteSource, bytesSource } from '../formats/byte-source.ts';
export { bfloat16, float16, float32, type WritableElementType } from '../formats/element-types.ts';
export { FormatError } from '../formats/format-error.ts';
export { type GgufFile, openGguf } from '../formats/gguf.ts';
export { type GgufMetadata, type GgufTensor, type GgufValue, ggufHeader, ggufPadding } from '../formats/gguf-writer.ts';
export { type JsonLine, parseJsonLines, stringifyLine } from '../formats/jsonl.ts';
export { type NumpyArray, readNpz, writeNpz } from '../formats/npz.ts';
export { type ReadParquetOptions, readParquet } from '../formats/parquet.ts';
export { type ParquetType, writeParquet } from '../formats/parquet-writer.ts';
export { parseJson } from '../formats/parse-json.ts';
export { openSafetensors, type WritableTensor, writeSafetensors } from '../formats/safetensors.ts';
export { joinShards, parseSafetensorsIndex } from '../formats/safetensors-index.ts';
export type { TensorEntry, TensorFile } from '../formats/tensor-file.ts';
export { type EventContent, encodeEvent } from '../formats/tfevents.ts';

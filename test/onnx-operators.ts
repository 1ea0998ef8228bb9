// Reads the operators of an ONNX model back from its bytes: the few fields of onnx.proto that name them.

const GRAPH = 7;
const NODE = 1;
const OPERATOR = 4;

/** The operator of each node, in the model's order. */
export function onnxOperators(model: Uint8Array): string[] {
  const decoder = new TextDecoder();
  const graph = nested(model, GRAPH)[0]!;
  return nested(graph, NODE).map((node) => decoder.decode(nested(node, OPERATOR)[0]));
}

/** What a protobuf message holds under a field that has a length: texts, bytes and messages. */
function nested(message: Uint8Array, wanted: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  let at = 0;
  const integer = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const key = integer();
    const [field, kind] = [key >> 3, key & 7];
    if (kind === 2) {
      const length = integer();
      if (field === wanted) found.push(message.subarray(at, at + length));
      at += length;
    } else if (kind === 5) at += 4;
    else integer();
  }
  return found;
}

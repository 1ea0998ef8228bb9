// Names of weights in files of models that also read images, whose text model is a part: those of the text model alone.
import type { TensorFile } from '../../formats/tensor-file.ts';

const inside = /(^|\.)model\.language_model\./;

/** A file whose tensors `model.language_model.…` are called `model.…`, as they are of the text model alone; adapters of them, too. */
export function withTextNames<File extends TensorFile>(file: File): File {
  const names = new Map([...file.tensors.keys()].map((name) => [name.replace(inside, '$1model.'), name]));
  const stored = (name: string) => names.get(name) ?? name;
  return {
    ...file,
    tensors: new Map([...names].map(([name, storedName]) => [name, { ...file.tensors.get(storedName)!, name }])),
    readFloat32: (name, into) => file.readFloat32(stored(name), into),
    readBytes: (name, into) => file.readBytes(stored(name), into),
  };
}

/** Parts of a model that its text model does not need, by the beginnings of their names: the vision tower, and layers that predict further tokens. */
export function partsLeftOut(names: Iterable<string>): string[] {
  const parts = [...names].map((name) => /^(?:model\.)?(visual|mtp)\./.exec(name)?.[1]);
  return [...new Set(parts.filter((part) => part !== undefined))].sort();
}

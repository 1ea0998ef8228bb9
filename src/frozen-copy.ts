// Copies that user code may have: what it does to them changes nothing else.

/** A copy that is frozen through and through, as far as it is made of arrays and plain objects, as JSON is. What is shared is copied once. */
export function frozenCopy<T>(value: T, copies = new Map<unknown, unknown>()): T {
  const isArray = Array.isArray(value);
  if (!isArray && (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)) {
    return value;
  }
  const copyOf = <V>(item: V) => frozenCopy(item, copies);
  if (!copies.has(value)) {
    const copy = isArray
      ? value.map((item) => copyOf(item))
      : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)]));
    copies.set(value, Object.freeze(copy));
  }
  return copies.get(value) as T;
}

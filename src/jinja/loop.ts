// The variable `loop`: the position of a loop, and its elements.
import { equals } from './comparison.ts';
import { builtin } from './signature.ts';
import { Callable, elementsOf, JinjaError, type Loop, Stream, Undefined, type Value, valueOr } from './values.ts';

/** Iterates over the elements of a value. A stream is read one by one, until something needs its length. */
export class LoopState implements Loop {
  readonly isLoop = true;
  readonly #depth: number;
  readonly #recurse: ((over: Value, depth: number) => string) | undefined;
  readonly #stream: Stream | undefined;
  #items: readonly Value[];
  #index = -1;
  #before: Value | undefined;
  #current: Value | undefined;
  #changing: readonly Value[] | undefined;

  /** @param recurse renders the loop for other elements, one level deeper */
  constructor(over: Value, depth: number, recurse?: (over: Value, depth: number) => string) {
    this.#depth = depth;
    this.#recurse = recurse;
    this.#stream = over instanceof Stream ? over : undefined;
    this.#items = this.#stream ? [] : elementsOf(over);
  }

  /** Goes to the next element; `undefined` at the end. */
  next(): Value | undefined {
    const item = this.#peek();
    if (item === undefined) return undefined;
    this.#index++;
    this.#before = this.#current;
    this.#current = item;
    return item;
  }

  #peek(): Value | undefined {
    const place = this.#index + 1;
    if (this.#stream && place >= this.#items.length) {
      const item = this.#stream.next();
      if (item === undefined) return undefined;
      (this.#items as Value[]).push(item);
    }
    return this.#items[place];
  }

  get #length(): number {
    if (this.#stream) (this.#items as Value[]).push(...this.#stream);
    return this.#items.length;
  }

  attribute(name: string): Value | undefined {
    const index = this.#index;
    switch (name) {
      case 'index':
        return index + 1;
      case 'index0':
        return index;
      case 'revindex':
        return this.#length - index;
      case 'revindex0':
        return this.#length - index - 1;
      case 'first':
        return index === 0;
      case 'last':
        return this.#peek() === undefined;
      case 'length':
        return this.#length;
      case 'depth':
        return this.#depth + 1;
      case 'depth0':
        return this.#depth;
      case 'previtem':
        return valueOr(this.#before, () => new Undefined('there is no previous item'));
      case 'nextitem':
        return valueOr(this.#peek(), () => new Undefined('there is no next item'));
      case 'cycle':
        return new Callable('<bound method LoopContext.cycle>', (given) => {
          if (given.length === 0) throw new JinjaError('no items for cycling given');
          return given[index % given.length]!;
        });
      case 'changed':
        return new Callable('<bound method LoopContext.changed>', (given) => this.#hasChanged(given));
      default:
        return undefined;
    }
  }

  #hasChanged(given: readonly Value[]): boolean {
    const isSame = this.#changing !== undefined && equals(this.#changing, given);
    this.#changing = given;
    return !isSame;
  }

  readonly call: Callable['call'] = (given, named) => {
    const recurse = this.#recurse;
    if (!recurse) throw new JinjaError("The loop must have the 'recursive' marker to be called recursively.");
    return builtin('loop', 'iterable!', (over) => recurse(over!, this.#depth + 1)).call(given, named);
  };

  readonly written = () => `<LoopContext ${this.#index + 1}/${this.#length}>`;
}

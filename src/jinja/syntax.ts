// The parts of a parsed template.
import type { Value } from './values.ts';

export type Expression =
  | { readonly type: 'constant'; readonly value: Value }
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'list' | 'tuple'; readonly items: readonly Expression[] }
  | { readonly type: 'dict'; readonly items: readonly (readonly [Expression, Expression])[] }
  | { readonly type: 'attribute'; readonly object: Expression; readonly name: string }
  | { readonly type: 'item'; readonly object: Expression; readonly key: Expression }
  | { readonly type: 'slice'; readonly object: Expression; readonly bounds: readonly (Expression | null)[] }
  | { readonly type: 'call'; readonly callee: Expression; readonly given: Arguments }
  | FilterCall
  | { readonly type: 'test'; readonly value: Expression; readonly name: string; readonly given: Arguments }
  | { readonly type: 'not' | 'negative' | 'positive'; readonly value: Expression }
  | { readonly type: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly type: 'binary'; readonly operator: string; readonly left: Expression; readonly right: Expression }
  | { readonly type: 'concat'; readonly items: readonly Expression[] }
  | { readonly type: 'compare'; readonly first: Expression; readonly rest: readonly (readonly [string, Expression])[] }
  | {
      readonly type: 'condition';
      readonly test: Expression;
      readonly then: Expression;
      readonly otherwise: Expression | null;
    };

/** @property value the filtered expression; null in a filter block, which filters its own output */
export interface FilterCall {
  readonly type: 'filter';
  readonly value: Expression | null;
  readonly name: string;
  readonly given: Arguments;
}

export interface Arguments {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [string, Expression])[];
  readonly list: Expression | null;
  readonly dict: Expression | null;
}

export type Target =
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'field'; readonly name: string; readonly field: string }
  | { readonly type: 'targets'; readonly items: readonly Target[] };

export type Body = readonly Statement[];

export type Statement =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'output'; readonly value: Expression }
  | {
      readonly type: 'for';
      readonly target: Target;
      readonly over: Expression;
      readonly test: Expression | null;
      readonly recursive: boolean;
      readonly body: Body;
      readonly otherwise: Body;
    }
  | { readonly type: 'if'; readonly branches: readonly (readonly [Expression, Body])[]; readonly otherwise: Body }
  | { readonly type: 'set'; readonly target: Target; readonly value: Expression }
  | { readonly type: 'capture'; readonly target: Target; readonly filter: FilterCall | null; readonly body: Body }
  | { readonly type: 'macro'; readonly name: string; readonly signature: Signature; readonly body: Body }
  | {
      readonly type: 'callBlock';
      readonly signature: Signature;
      readonly call: Extract<Expression, { type: 'call' }>;
      readonly body: Body;
    }
  | { readonly type: 'filterBlock'; readonly filter: FilterCall; readonly body: Body }
  | { readonly type: 'with'; readonly values: readonly (readonly [Target, Expression])[]; readonly body: Body }
  | { readonly type: 'scope'; readonly body: Body }
  | { readonly type: 'break' | 'continue' };

export interface Signature {
  readonly parameters: readonly (readonly [string, Expression | null])[];
  /** Names among `caller`, `kwargs` and `varargs` that the body reads. */
  readonly special: ReadonlySet<string>;
}

// Runs statements: each becomes a function of the variables that writes output.
import { nested, spend } from './budget.ts';
import { callValue, compileArguments, compileExpression, compileFilter } from './expressions.ts';
import { Frame, Output } from './frame.ts';
import { LoopState } from './loop.ts';
import { compileMacro } from './macro.ts';
import type { Body, FilterCall, Statement, Target } from './syntax.ts';
import { str } from './text.ts';
import { elementsOf, isTrue, JinjaError, Namespace, Stream, type Value } from './values.ts';

/** Says whether to break or continue the loop around it. */
type Run = (frame: Frame) => 'break' | 'continue' | undefined;

/** The cost of an iteration besides its content: its variables. */
const ITERATION = 4;

export function compileBody(body: Body): Run {
  const runs = body.map(compileStatement);
  return (frame) => {
    for (const run of runs) {
      const signal = run(frame);
      if (signal) return signal;
    }
    return undefined;
  };
}

/** A statement that neither breaks nor continues a loop. */
function plain(work: (frame: Frame) => void): Run {
  return (frame) => {
    spend(2);
    work(frame);
    return undefined;
  };
}

function compileStatement(statement: Statement): Run {
  switch (statement.type) {
    case 'text': {
      const { text } = statement;
      return plain(({ output }) => output.write(text));
    }
    case 'output': {
      const value = compileExpression(statement.value);
      return plain((frame) => frame.output.write(str(value(frame))));
    }
    case 'break':
    case 'continue': {
      const { type } = statement;
      return () => type;
    }
    case 'if':
      return compileIf(statement);
    case 'for':
      return compileFor(statement);
    case 'set': {
      const assign = compileTarget(statement.target);
      const value = compileExpression(statement.value);
      return plain((frame) => assign(frame, value(frame)));
    }
    case 'capture':
      return compileFiltered(statement, compileTarget(statement.target));
    case 'filterBlock':
      return compileFiltered(statement, (frame, value) => frame.output.write(str(value)));
    case 'macro': {
      const { name, signature, body } = statement;
      const define = compileMacro(name, signature, compileBody(body));
      return plain((frame) => frame.set(name, define(frame)));
    }
    case 'callBlock':
      return compileCallBlock(statement);
    case 'with': {
      const values = statement.values.map(
        ([target, value]) => [compileTarget(target), compileExpression(value)] as const,
      );
      const body = compileBody(statement.body);
      return (frame) => {
        spend(1);
        const inner = new Frame(frame);
        for (const [assign, value] of values) assign(inner, value(frame));
        return body(inner);
      };
    }
    case 'scope': {
      const body = compileBody(statement.body);
      return (frame) => body(new Frame(frame));
    }
  }
}

function compileIf({ branches, otherwise }: Extract<Statement, { type: 'if' }>): Run {
  const compiled = branches.map(([test, body]) => [compileExpression(test), compileBody(body)] as const);
  const other = compileBody(otherwise);
  return (frame) => {
    spend(1);
    for (const [test, body] of compiled) if (isTrue(test(frame))) return body(frame);
    return other(frame);
  };
}

function compileFor(statement: Extract<Statement, { type: 'for' }>): Run {
  const over = compileExpression(statement.over);
  const assign = compileTarget(statement.target);
  const test = statement.test && compileExpression(statement.test);
  const body = compileBody(statement.body);
  const otherwise = compileBody(statement.otherwise);

  function* kept(outside: Frame, value: Value) {
    for (const item of value instanceof Stream ? value : elementsOf(value)) {
      const frame = new Frame(outside);
      assign(frame, item);
      if (isTrue(test!(frame))) yield item;
    }
  }

  function run(outside: Frame, value: Value, depth: number): ReturnType<Run> {
    const recurse = statement.recursive
      ? (deeper: Value, depth: number) =>
          nested(() => {
            const frame = new Frame(outside, new Output());
            run(frame, deeper, depth);
            return frame.output.text;
          })
      : undefined;
    const loop = new LoopState(test ? new Stream('generator', kept(outside, value)) : value, depth, recurse);
    let completed = 0;
    for (let item = loop.next(); item !== undefined; item = loop.next()) {
      spend(ITERATION);
      const frame = new Frame(outside);
      assign(frame, item);
      frame.set('loop', loop);
      const signal = body(frame);
      if (signal === 'break') break;
      if (!signal) completed++;
    }
    // In Jinja an iteration that `continue` cuts short does not count.
    return completed === 0 ? otherwise(new Frame(outside)) : undefined;
  }

  return (frame) => {
    spend(1);
    return run(frame, over(frame), 0);
  };
}

function compileCallBlock({ signature, call, body }: Extract<Statement, { type: 'callBlock' }>): Run {
  const define = compileMacro(null, signature, compileBody(body));
  const callee = compileExpression(call.callee);
  const evaluated = compileArguments(call.given);
  return plain((frame) => {
    const caller = define(frame);
    const called = callee(frame);
    const [given, named] = evaluated(frame);
    frame.output.write(str(callValue(called, given, new Map(named).set('caller', caller))));
  });
}

/** A block whose output is filtered, then used instead of written. */
function compileFiltered(
  block: { readonly body: Body; readonly filter: FilterCall | null },
  use: (frame: Frame, value: Value) => void,
): Run {
  const body = compileBody(block.body);
  const filter = compileBlockFilter(block.filter);
  return (frame) => {
    spend(1);
    const inner = new Frame(frame, new Output());
    const signal = body(inner);
    if (!signal) use(frame, filter(inner));
    return signal;
  };
}

/** The output of a block after its filters. */
function compileBlockFilter(filter: FilterCall | null): (frame: Frame) => Value {
  if (!filter) return ({ output }) => output.text;
  const { value, name, given } = filter;
  const inner = compileBlockFilter(value as FilterCall | null);
  return compileFilter(inner, name, given);
}

function compileTarget(target: Target): (frame: Frame, value: Value) => void {
  switch (target.type) {
    case 'name': {
      const { name } = target;
      return (frame, value) => frame.set(name, value);
    }
    case 'field': {
      const { name, field } = target;
      return (frame, value) => {
        const namespace = frame.get(name);
        if (!(namespace instanceof Namespace)) throw new JinjaError('cannot assign attribute on non-namespace object');
        namespace.set(field, value);
      };
    }
    case 'targets': {
      const targets = target.items.map(compileTarget);
      return (frame, value) => {
        const items = elementsOf(value);
        if (items.length !== targets.length)
          throw new JinjaError(`${items.length < targets.length ? 'not enough' : 'too many'} values to unpack`);
        for (const [i, assign] of targets.entries()) assign(frame, items[i]!);
      };
    }
  }
}

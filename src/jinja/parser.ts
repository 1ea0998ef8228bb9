// Parses the statements of a template.
import { ExpressionParser } from './expression-parser.ts';
import { tokenize } from './lexer.ts';
import type { Body, Expression, Signature, Statement, Target } from './syntax.ts';
import { NotAvailable } from './values.ts';

const ofOtherFiles: ReadonlySet<string> = new Set(['extends', 'include', 'import', 'from']);
const reserved: ReadonlySet<string> = new Set(['true', 'false', 'none', 'True', 'False', 'None']);

/** Throws a `JinjaError` if a template is not valid. */
export function parse(source: string): Body {
  return new Parser(tokenize(source)).template();
}

class Parser extends ExpressionParser {
  /** How many loops surround a statement within its macro or block. */
  #loops = 0;
  readonly #blocks = new Set<string>();

  template(): Body {
    return this.#body([]);
  }

  /** Statements up to a tag of one of these names, which is then the current token. */
  #body(ends: readonly string[]): Statement[] {
    const body: Statement[] = [];
    for (;;) {
      const { type, value } = this.current;
      if (type === 'data') {
        this.next();
        body.push({ type: 'text', text: value });
      } else if (type === 'variable_begin') {
        this.next();
        body.push({ type: 'output', value: this.tuple() });
        this.expect('variable_end');
      } else if (type === 'block_begin') {
        this.next();
        if (ends.some((name) => this.isName(name))) return body;
        body.push(...this.#statement());
        this.expect('block_end');
      } else {
        if (ends.length > 0) this.fail(`Unexpected end of template: expected ${ends.join(' or ')}`);
        return body;
      }
    }
  }

  /** The statements of a block, whose first tag ends here. */
  #block(...ends: readonly string[]): Statement[] {
    this.skips(':');
    this.expect('block_end');
    return this.#body(ends);
  }

  /** Like `#block`, but also consumes the name of its last tag. */
  #wholeBlock(end: string): Statement[] {
    const body = this.#block(end);
    this.next();
    return body;
  }

  /** A block that becomes a function in Jinja, so `break` cannot leave it. */
  #ownBlock(end: string): Statement[] {
    const loops = this.#loops;
    this.#loops = 0;
    const body = this.#wholeBlock(end);
    this.#loops = loops;
    return body;
  }

  #statement(): Statement[] {
    const name = this.expect('name');
    switch (name) {
      case 'for':
        return [this.#for()];
      case 'if':
        return [this.#if()];
      case 'set':
        return [this.#set()];
      case 'macro':
        return [this.#macro()];
      case 'call':
        return [this.#call()];
      case 'filter':
        return [{ type: 'filterBlock', filter: this.filters(null, true)!, body: this.#wholeBlock('endfilter') }];
      case 'with':
        return [this.#with()];
      case 'print':
        return this.#print();
      case 'generation':
        // In transformers a call block, which marks the model's own words.
        return [{ type: 'scope', body: this.#ownBlock('endgeneration') }];
      case 'block':
        return [this.#named()];
      case 'autoescape':
        return [this.#autoescape()];
      case 'break':
      case 'continue':
        if (this.#loops === 0) this.fail(`'${name}' outside of a loop`);
        return [{ type: name }];
      default:
        if (ofOtherFiles.has(name)) throw new NotAvailable(`{% ${name} %}: a chat template is one file`);
        return this.fail(`Encountered unknown tag '${name}'`);
    }
  }

  #for(): Statement {
    const target = this.#target(['in']);
    if (!this.skipsName('in')) this.fail(`expected 'in', got ${this.described()}`);
    const over = this.tuple({ conditions: false, ends: ['recursive'] });
    const test = this.skipsName('if') ? this.expression() : null;
    const recursive = this.skipsName('recursive');
    const loops = this.#loops;
    this.#loops = loops + 1;
    const body = this.#block('endfor', 'else');
    this.#loops = loops;
    const otherwise = this.next().value === 'else' ? this.#wholeBlock('endfor') : [];
    return { type: 'for', target, over, test, recursive, body, otherwise };
  }

  #if(): Statement {
    const branches: [Expression, Body][] = [];
    for (;;) {
      const test = this.tuple({ conditions: false });
      branches.push([test, this.#block('elif', 'else', 'endif')]);
      const { value } = this.next();
      if (value === 'elif') continue;
      return { type: 'if', branches, otherwise: value === 'else' ? this.#wholeBlock('endif') : [] };
    }
  }

  #set(): Statement {
    const target = this.#target([], true);
    if (this.skips('=')) return { type: 'set', target, value: this.tuple() };
    const filter = this.filters(null);
    return { type: 'capture', target, filter, body: this.#wholeBlock('endset') };
  }

  #macro(): Statement {
    const name = this.#newName();
    return { type: 'macro', name, ...this.#function(() => this.#signature(), 'endmacro') };
  }

  #call(): Statement {
    let call: Expression | undefined;
    const rest = this.#function(() => {
      const parameters = this.current.type === '(' ? this.#signature() : [];
      call = this.expression();
      return parameters;
    }, 'endcall');
    if (call?.type !== 'call') return this.fail('expected call');
    return { type: 'callBlock', call, ...rest };
  }

  #function(head: () => Signature['parameters'], end: string): { signature: Signature; body: Body } {
    const parameters = head();
    const special = new Set<string>();
    this.macros.push(special);
    const body = this.#ownBlock(end);
    this.macros.pop();
    return { signature: { parameters, special }, body };
  }

  #signature(): Signature['parameters'] {
    const parameters: [string, Expression | null][] = [];
    this.expect('(');
    while (this.current.type !== ')') {
      if (parameters.length > 0) this.expect(',');
      const name = this.#newName();
      const otherwise = this.skips('=') ? this.expression() : null;
      if (!otherwise && parameters.some(([, each]) => each)) this.fail('non-default argument follows default argument');
      parameters.push([name, otherwise]);
    }
    this.expect(')');
    return parameters;
  }

  #with(): Statement {
    const values: [Target, Expression][] = [];
    while (this.current.type !== 'block_end' && this.current.type !== ':') {
      if (values.length > 0) this.expect(',');
      const target = this.#target([]);
      this.expect('=');
      values.push([target, this.expression()]);
    }
    return { type: 'with', values, body: this.#wholeBlock('endwith') };
  }

  #print(): Statement[] {
    const printed: Statement[] = [];
    while (this.current.type !== 'block_end') {
      if (printed.length > 0) this.expect(',');
      printed.push({ type: 'output', value: this.expression() });
    }
    return printed;
  }

  /** Without inheritance, a block is just its content. */
  #named(): Statement {
    const name = this.expect('name');
    if (this.#blocks.has(name)) this.fail(`block '${name}' defined twice`);
    this.#blocks.add(name);
    this.skipsName('scoped');
    const body = this.#ownBlock('endblock');
    this.skipsName(name);
    return { type: 'scope', body };
  }

  #autoescape(): Statement {
    const value = this.expression();
    if (value.type !== 'constant' || value.value !== false) throw new NotAvailable('{% autoescape true %}');
    return { type: 'scope', body: this.#wholeBlock('endautoescape') };
  }

  /** The target of an assignment: one name or several, or with `fields` attributes of namespaces. */
  #target(ends: readonly string[], fields = false): Target {
    const items: Target[] = [];
    let isTuple = false;
    while (!['=', 'block_end', ')', '|'].includes(this.current.type) && !ends.some((name) => this.isName(name))) {
      items.push(this.#oneTarget(fields));
      if (!this.skips(',')) break;
      isTuple = true;
    }
    if (items.length === 0) this.fail(`Expected a name, got ${this.described()}`);
    return isTuple ? { type: 'targets', items } : items[0]!;
  }

  #oneTarget(fields: boolean): Target {
    if (this.skips('(')) {
      const target = this.#target([], fields);
      this.expect(')');
      return target;
    }
    const name = this.#newName();
    return fields && this.skips('.') ? { type: 'field', name, field: this.expect('name') } : { type: 'name', name };
  }

  #newName(): string {
    const name = this.expect('name');
    if (reserved.has(name)) this.fail(`can't assign to '${name}'`);
    return name;
  }
}

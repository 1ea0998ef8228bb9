// Ends a chat template that does not end by itself: it is rendered in this thread, which would hear no signal meanwhile.
import { createContext, Script } from 'node:vm';
import { GradusError } from '../errors.ts';
import type { ChatTemplate } from '../renderers/chat-template.ts';

/** Without these, templates only loop over what they are given. */
const mayBeEndless = /\b(range|macro)\b/;

/** Milliseconds for one conversation, of which thousands of turns take a few hundred. */
const longest = 10_000;

/** Throws `CHAT_TEMPLATE_FAILED` for conversations on which the template takes longer. @param source in Jinja, which tells whether a limit is needed: it costs 0.2 ms a time */
export function limitedTemplate(template: ChatTemplate, source: string, limit = longest): ChatTemplate {
  if (!mayBeEndless.test(source)) return template;
  // The limit of a script holds for all that it calls.
  const context: { work?: () => void } = createContext({});
  const script = new Script('work()');
  return {
    render(...given) {
      let text = '';
      context.work = () => {
        text = template.render(...given);
      };
      try {
        script.runInContext(context, { timeout: limit });
      } catch (cause) {
        if ((cause as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw cause;
        throw new GradusError('CHAT_TEMPLATE_FAILED', `the chat template takes longer than ${limit / 1000} s`, {
          hint: 'look at its loops over range(…) and at its macros, or set chat_template to a template of your own',
          path: 'chat_template',
          cause,
        });
      }
      return text;
    },
  };
}

// Sets a time limit for chat templates that may never end: they are rendered in this thread, which no signal could interrupt.
import { GradusError } from '../errors.ts';
import type { ChatTemplate } from '../renderers/chat-template.ts';
import { endedAfter } from './ended-after.ts';

/** Templates without these constructs only loop over their input, and always end. */
const mayBeEndless = /\b(range|macro)\b/;

/** Milliseconds for one conversation; one of thousands of turns takes a few hundred. */
const LONGEST = 10_000;

/** Throws `CHAT_TEMPLATE_FAILED` for conversations on which the template takes longer. @param source in Jinja, which tells whether a limit is needed */
export function limitedTemplate(template: ChatTemplate, source: string, limit = LONGEST): ChatTemplate {
  if (!mayBeEndless.test(source)) return template;
  const limited = endedAfter(
    limit,
    (cause) =>
      new GradusError('CHAT_TEMPLATE_FAILED', `the chat template takes longer than ${limit / 1000} s`, {
        hint: 'look at its loops over range(…) and at its macros, or set chat_template to a template of your own',
        path: 'chat_template',
        cause,
      }),
  );
  return { render: (...given) => limited(() => template.render(...given)) };
}

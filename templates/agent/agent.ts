// The agent: it calls a model over HTTP, and knows nothing about training. Replace it with your own, with whatever library it uses.

/** The address of the model. */
export interface ModelAddress {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly model: string;
  readonly signal?: AbortSignal;
}

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** Asks for a sum, and asks again once if the reply is not just a number. Returns the last reply. */
export async function solve(question: string, address: ModelAddress): Promise<string> {
  const messages: Message[] = [
    { role: 'system', content: 'Reply with one number and nothing else.' },
    { role: 'user', content: 'What is 2 + 3?' },
    { role: 'assistant', content: '5' },
    { role: 'user', content: question },
  ];
  const first = await chat(messages, address);
  if (/^\d+$/.test(first)) return first;
  return chat(
    [...messages, { role: 'assistant', content: first }, { role: 'user', content: 'One number, please.' }],
    address,
  );
}

/** One call to OpenAI's chat completions. */
async function chat(messages: readonly Message[], { baseURL, apiKey, model, signal }: ModelAddress): Promise<string> {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model, messages }),
    ...(signal && { signal }),
  });
  if (!response.ok) throw new Error(await response.text());
  const { choices } = (await response.json()) as { choices: { message: { content: string | null } }[] };
  return (choices[0]!.message.content ?? '').trim();
}

// episodes.serve.result/1, episodes.request/1 and episodes.episode/1: the message that episodes can be played, requests for completions, and what came of an episode.
import { z } from 'zod';
import { type EpisodeLine, episodeLine, type RequestLine, requestLine } from '../../episodes/lines.ts';
import { resultSchema } from './envelope.ts';

export const episodesServeSchema = resultSchema(
  'episodes.serve.result/1',
  'episodes serve',
  'The first line of gradus episodes serve: from now on it plays what the lines on its stdin ask for.',
  {
    rewards: z.array(z.string()).describe('the names of scores and rewards; the first decides what is correct'),
    context_length: z.int().describe('the maximum tokens of a prompt with its completion'),
  },
);

export const episodesRequestSchema: z.ZodType<RequestLine> = requestLine.describe(
  'One line of gradus episodes serve: a request for a completion, answered by a line such as {"type": "completion", "request": 3, "ids": [20, 2], "logprobs": [-0.1, -0.2], "finish_reason": "stop"}, or by {"type": "fault", "request": 3, "message": "…"}.',
);

export const episodesEpisodeSchema: z.ZodType<EpisodeLine> = episodeLine.describe(
  'One line of gradus episodes serve: an episode that is over, which a line such as {"type": "play", "id": 1, "row": {"question": "2 + 2?"}, "seed": 0} began.',
);

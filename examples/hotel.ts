// Booking hotel rooms: the model searches and books with tools, and is then asked what it booked, which is scored but not trained on.
//
//   node examples/hotel.ts --model-name MODEL --eval-on-start
//   gradus env check examples/hotel.ts:HotelEnv --config '{"difficulty": "hard"}'
//   gradus train examples/hotel.yaml
import {
  configurable,
  finalQuestion,
  type Message,
  randomStream,
  streamSeed,
  tool,
  toolEnvironment,
  z,
} from '../src/index.ts';
import { trainExample } from './shared/train-example.ts';

interface Booking extends Record<string, unknown> {
  readonly city: string;
  readonly nights: number;
}

const cities = [
  'Paris',
  'Tokyo',
  'Lisbon',
  'Oslo',
  'Cairo',
  'Lima',
  'Quito',
  'Seoul',
  'Delhi',
  'Rome',
  'Vienna',
  'Accra',
];
const heldOutCities = ['Rome', 'Vienna', 'Accra'];
const hotels = ['Astoria', 'Bristol', 'Central', 'Diana'];

const settings = z.strictObject({
  difficulty: z.enum(['normal', 'hard']).default('normal').describe('hard: only the cheapest hotel is right'),
});

export const HotelEnv = configurable('booking hotel rooms with tools', settings, ({ difficulty }) =>
  finalQuestion<Booking>(
    toolEnvironment<Booking>({
      prompt: ({ city, nights }) => {
        const which = difficulty === 'hard' ? 'the cheapest hotel' : 'a hotel';
        return [{ role: 'user', content: `Book a room for ${nights} nights in ${which} in ${city}.` }];
      },
      tools: (booking) => [
        tool({
          name: 'search_hotels',
          description: 'The hotels of a city with their prices for a night',
          parameters: z.strictObject({ city: z.string() }),
          execute: ({ city }) => (city === booking.city ? prices(city) : 'no hotels there'),
        }),
        tool({
          name: 'book_room',
          description: 'Books a room and answers with the number of the booking',
          parameters: z.strictObject({ hotel: z.string(), nights: z.int() }),
          execute: ({ hotel }) => (hotels.includes(hotel) ? `booked: ${bookingNumber(booking)}` : 'no such hotel'),
        }),
      ],
      maxToolCalls: 4,
      scores: {
        booked({ example, calls }) {
          const booking = calls.findLast(({ name, answer }) => name === 'book_room' && !answer.failure)?.arguments;
          const right = difficulty === 'hard' ? [cheapest(example.city)] : hotels;
          return Number(booking?.nights === example.nights && right.includes(String(booking.hotel)));
        },
      },
      buildDataset: () => ({
        train: bookings(cities.filter((city) => !heldOutCities.includes(city))),
        eval: bookings(heldOutCities),
      }),
      gold: (booking) => [
        call('search_hotels', { city: booking.city }),
        call('book_room', { hotel: cheapest(booking.city), nights: booking.nights }),
        'Your room is booked.',
        bookingNumber(booking),
      ],
    }),
    {
      ask: () => 'What is the number of the booking?',
      scores: { recalled: ({ example, text }) => Number(text.includes(bookingNumber(example))) },
    },
  ),
);

function bookings(places: readonly string[]): Booking[] {
  return places.flatMap((city) => [1, 2, 3, 4, 5, 6, 7].map((nights) => ({ city, nights })));
}

/** The price of each hotel in a city; no two are equal. */
function prices(city: string): Record<string, number> {
  const random = randomStream(streamSeed(0, city));
  return Object.fromEntries(hotels.map((hotel, i) => [hotel, 60 + 4 * random.integer(20) + i]));
}

function cheapest(city: string): string {
  const [[hotel]] = Object.entries(prices(city)).sort(([, a], [, b]) => a - b) as [[string, number]];
  return hotel;
}

function bookingNumber({ city, nights }: Booking): string {
  return String(1000 + randomStream(streamSeed(1, city, nights)).integer(9000));
}

function call(name: string, args: Record<string, unknown>): Message {
  return { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', name, arguments: args }] };
}

if (import.meta.main) {
  await trainExample({
    environment: HotelEnv.create({}),
    defaults: { 'max-turns': 5, 'max-tokens': 64, 'run-dir': 'runs/hotel' },
  });
}

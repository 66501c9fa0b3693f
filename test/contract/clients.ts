import OpenAI from 'openai'
import OpenAIv4 from 'openai-v4'
import type { Gateway } from '../helpers/gateway.ts'

/**
 * The official SDK in each major version in use; without retries, so that each test sees the first answer.
 */
export const clients = {
  'openai 7': (gateway: Address, more: Options = {}) => new OpenAI({ ...optionsFor(gateway), ...more }),
  // The two majors have the same methods; the tests are written against the types of the newer one.
  'openai 4': (gateway: Address, more: Options = {}) =>
    new OpenAIv4({ ...optionsFor(gateway), ...more } as OptionsOf4) as unknown as OpenAI
}

type Address = Pick<Gateway, 'url' | 'key'>
interface Options { maxRetries?: number, fetch?: typeof fetch }
/** Its type of `fetch` is that of a library. */
type OptionsOf4 = ConstructorParameters<typeof OpenAIv4>[0]

function optionsFor ({ url, key }: Address) {
  return { baseURL: url, apiKey: key, maxRetries: 0 }
}

/** Error classes by SDK, for `instanceof`. */
export const errorClasses = { 'openai 7': OpenAI, 'openai 4': OpenAIv4 as unknown as typeof OpenAI }

export type ClientName = keyof typeof clients
export const clientNames = Object.keys(clients) as ClientName[]

export { forgetful, roundTrips } from './round-trips.ts'
export type { Heard, Question, RoundTrip, RunnableTool } from './round-trips.ts'

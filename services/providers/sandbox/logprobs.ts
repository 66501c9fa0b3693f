import type { ChatLogprobs } from '../../../schemas/openai/chat-completions.ts'
import { fnv1aHash } from './hash.ts'

/** Deterministic log probabilities, each with the `top` likeliest tokens; `from`: the place of the first. */
export function fakeLogprobs (tokens: readonly string[], top: number, from = 0): ChatLogprobs {
  return { content: tokens.map((token, i) => logprobOf(token, top, from + i)), refusal: null }
}

type TokenLogprob = NonNullable<ChatLogprobs['content']>[number]

function logprobOf (token: string, top: number, position: number): TokenLogprob {
  const chance = fnv1aHash(token, String(position)) % 4_000
  const probability = 0.55 + chance / 10_000
  const others = alternatives.filter(other => other !== token)
  const ranked = Array.from({ length: top }, (_, rank) => rank === 0
    ? entry(token, probability)
    // Halved each time, so that the sum stays below one.
    : entry(others[(position + rank) % others.length] ?? '', 0.9 * (1 - probability) / 2 ** rank))
  return { ...entry(token, probability), top_logprobs: ranked }
}

interface Entry { token: string, logprob: number, bytes: number[] }

const entry = (token: string, probability: number): Entry =>
  ({ token, logprob: Number(Math.log(probability).toFixed(6)), bytes: [...Buffer.from(token)] })

// More than the maximum of `top_logprobs`, 20, so that the alternatives of a token differ.
const alternatives = [
  ' the', ' a', ' to', ' and', ' of', ' in', ' is', ' it', ' for', ' that', ' on', ' with', ' as', ' you', ' this',
  ' I', ' be', ' are', ' can', ' will', '.', ',', ':', '!'
]

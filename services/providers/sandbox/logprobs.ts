import type { ChatLogprobs } from '../../../schemas/openai/chat-completions.ts'
import { hashOf } from './hash.ts'

/**
 * Made-up log probabilities for the tokens of a text whose first token is number `from` of its choice: each
 * token with its UTF-8 bytes and the `top` likeliest tokens, itself first. The same tokens always get the
 * same numbers.
 */
export function logprobsOf (tokens: readonly string[], top: number, from = 0): ChatLogprobs {
  return { content: tokens.map((token, i) => logprobOf(token, top, from + i)), refusal: null }
}

type TokenLogprob = NonNullable<ChatLogprobs['content']>[number]

function logprobOf (token: string, top: number, position: number): TokenLogprob {
  const chance = hashOf(token, String(position)) % 4_000
  const probability = 0.55 + chance / 10_000
  const others = alternatives.filter(other => other !== token)
  const ranked = Array.from({ length: top }, (_, rank) => rank === 0
    ? entry(token, probability)
    // Each is half as likely as the one before, so that all together stay below one.
    : entry(others[(position + rank) % others.length] ?? '', 0.9 * (1 - probability) / 2 ** rank))
  return { ...entry(token, probability), top_logprobs: ranked }
}

interface Entry { token: string, logprob: number, bytes: number[] }

const entry = (token: string, probability: number): Entry =>
  ({ token, logprob: Number(Math.log(probability).toFixed(6)), bytes: [...Buffer.from(token)] })

// More than the twenty that can be asked for, so that those of one token always differ.
const alternatives = [
  ' the', ' a', ' to', ' and', ' of', ' in', ' is', ' it', ' for', ' that', ' on', ' with', ' as', ' you', ' this',
  ' I', ' be', ' are', ' can', ' will', '.', ',', ':', '!'
]

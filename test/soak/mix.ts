import { request, type Dispatcher } from 'undici'
import type { Gateway } from '../helpers/gateway.ts'
import type { Random } from '../services/billing/ledger/random.ts'

/** The admin key of a soak. */
export const adminKey = 'operator-key-of-the-soak'

/** The keys in use: one without limits, and one that often reaches its limits. */
export interface Sender {
  gateway: Gateway
  limitedKey: string
  dispatcher: Dispatcher
  random: Random
}

interface Sent {
  path: string
  /** Absent: a GET. */
  body?: object
  /** The client disconnects when the answer begins, or after this many ms. */
  leaves?: 'at the head' | number
  cache?: string
  key?: string
  method?: 'POST'
}

type Kind = (random: Random, sender: Sender) => Sent

const question = (random: Random): string => `Question ${Math.floor(random.next() * 50)}`
const chat = (random: Random, more: object = {}): object => {
  return { model: 'chat', messages: [{ role: 'user', content: question(random) }], ...more }
}
const video = (random: Random): object => ({
  model: 'sandbox-video',
  messages: [{ role: 'user', content: `a red ball ${random.next()}\nsandbox:delay 0` }],
  video: { seconds: 2, size: '320x180' }
})
const image = (random: Random, more: object = {}): object => ({
  model: 'sandbox-image', prompt: question(random), size: '128x128', ...more
})

const videoKind: Kind = random => ({ path: '/chat/completions', body: video(random) })

/** The kinds of requests with their weights. */
const kinds: readonly [weight: number, kind: Kind][] = [
  [20, random => ({ path: '/chat/completions', body: chat(random) })],
  [20, random => ({ path: '/chat/completions', body: chat(random, { stream: true }) })],
  [8, random => ({ path: '/chat/completions', body: chat(random, { stream: true }), leaves: 'at the head' })],
  [5, random => ({ path: '/chat/completions', body: chat(random, { stream: random.next() < 0.5 }), leaves: 2 })],
  [10, random => ({
    path: '/chat/completions', body: chat(random, { temperature: 0, stream: random.next() < 0.5 }), cache: 'on'
  })],
  [6, random => ({ path: '/chat/completions', body: chat(random, { model: 'sandbox-chat', stream: true, max_tokens: 20 }) })],
  [4, random => ({ path: '/chat/completions', body: chat(random, { model: 'auto:cost', max_tokens: 20 }) })],
  [8, random => ({ path: '/completions', body: { model: 'chat', prompt: question(random) } })],
  [6, (random, { limitedKey: key }) => ({ path: '/chat/completions', body: chat(random, { stream: random.next() < 0.5 }), key })],
  [2, random => ({ path: '/images/generations', body: image(random) })],
  [1, random => ({ path: '/images/generations', body: image(random, { response_format: 'b64_json' }), leaves: 2 })],
  [0.3, videoKind],
  [0.1, random => ({ path: '/chat/completions', body: video(random), leaves: 50 })],
  [2, () => ({ path: '/chat/completions', body: { model: 'chat' } })],
  [2, random => ({ path: '/chat/completions', body: chat(random, { model: 'none' }) })],
  [2, () => ({ path: '/models' })],
  [2, () => ({ path: '/dashboard/billing' })],
  [1, () => ({ path: '/../metrics', key: adminKey })],
  [1, () => ({ path: '/../admin/keys?limit=5', key: adminKey })],
  [0.3, () => ({ path: '/../admin/jobs', key: adminKey })],
  [0.1, () => ({ path: '/../admin/ledger/check', method: 'POST', key: adminKey })],
  [0.1, () => ({ path: '/../admin/request-totals?by=model', key: adminKey })],
  [0.3, random => ({ path: '/../admin/keys', body: { account: 'default', label: question(random) }, key: adminKey })]
]

/** Sends a request of a random kind; returns its outcome, `left` if the client disconnected. */
export async function sendOne (sender: Sender): Promise<string> {
  return await send(sender, sender.random.weighted(kinds))
}

/** Sends two requests of each kind at once, so that everything is loaded that is loaded on first use. */
export async function sendEach (sender: Sender): Promise<void> {
  await Promise.all([...kinds, ...kinds].map(([, kind]) => send(sender, kind)))
}

/** Requests as many videos at once as the sandbox makes concurrently. */
export async function sendVideos (sender: Sender): Promise<void> {
  await Promise.all([send(sender, videoKind), send(sender, videoKind)])
}

async function send (sender: Sender, kind: Kind): Promise<string> {
  const { gateway: { url, headers, key: ownKey }, dispatcher, random } = sender
  const { path, body, leaves, cache, key = ownKey, method } = kind(random, sender)
  const abort = new AbortController()
  const timer = typeof leaves === 'number' ? setTimeout(() => abort.abort(), leaves) : undefined
  try {
    const answer = await request(new URL(`.${path}`, `${url}/`), {
      dispatcher,
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(body !== undefined && headers),
        authorization: `Bearer ${key}`,
        ...(cache !== undefined && { 'x-tollgate-cache': cache })
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: abort.signal
    })
    if (leaves === 'at the head') abort.abort()
    await answer.body.text()
    return String(answer.statusCode)
  } catch (error) {
    if (abort.signal.aborted) return 'left'
    throw error
  } finally {
    clearTimeout(timer)
  }
}

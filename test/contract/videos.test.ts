import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import OpenAIv4 from 'openai-v4'
import t from 'tap'
import type { Test } from 'tap'
import { Agent, fetch } from 'undici'
import type { VideoSettings } from '../../services/config/catalogue/types.ts'
import { newProvider } from '../../services/config/new-provider.ts'
import { blockDefaults, videoDefaults } from '../../services/config/defaults.ts'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { startGateway } from '../helpers/gateway.ts'
import type { Gateway } from '../helpers/gateway.ts'
import { idleSeconds, proxies } from '../servers/proxies.ts'
import type { StartProxy } from '../servers/proxies.ts'
import { startVideoProvider } from '../servers/video-provider.ts'
import { emptyPrice, modelFromCatalogue } from '../../services/config/catalogue/models.ts'

// Clients and proxies give up after seconds here, instead of minutes.

const run = promisify(execFile)
const videoMs = 7_000

async function start (t: Test, settings: Partial<VideoSettings> = {}): Promise<Gateway> {
  const provider = await startVideoProvider()
  t.teardown(() => provider[Symbol.asyncDispose]())
  const model = {
    ...modelFromCatalogue('up', 'film'),
    kind: 'video' as const,
    id: 'film',
    price: { ...emptyPrice, secondNano: 1_000_000 }
  }
  const gateway = await startGateway(t, {
    config: {
      providers: [newProvider({ id: 'up', baseUrl: provider.url, apiKey: 'sk-up' })],
      models: [model],
      policies: [],
      ...blockDefaults,
      video: {
        ...videoDefaults, heartbeatAfterMs: 300, heartbeatEveryMs: 250, maxHoldMs: 60_000, ...settings
      }
    }
  })
  Object.assign(gateway.app.providers.get('up')?.videos?.polling ?? {}, { minMs: 50, maxMs: 100 })
  return gateway
}

/** Requests a slow video; `name` is part of the prompt, so each request is for another one. */
function requestFor (name: string) {
  return {
    model: 'film', messages: [{ role: 'user' as const, content: `a red ball for ${name}, takes ${videoMs}` }], video: { seconds: 4 }
  }
}

interface Completion { choices: { message: { content: string | null } }[] }

async function checkVideo (t: Test, completion: Completion): Promise<void> {
  const url = completion.choices[0]?.message.content ?? ''
  const video = await fetch(url)
  t.equal(video.status, 200)
  t.equal(video.headers.get('content-type'), 'video/mp4')
  t.equal(Buffer.from(await video.arrayBuffer()).toString('latin1', 4, 8), 'ftyp')
}

async function checkOneEach (t: Test, { app }: Gateway, count: number): Promise<void> {
  await app.ledger.flush()
  t.match(await app.store.all('select state, count(*) as count from job group by state'), [{ state: 'succeeded', count }])
  t.match(await app.store.all("select count(*) as count from entry where kind = 'usage'"), [{ count }], 'each charged once')
  t.strictSame(await checkLedger(app.store), [])
}

type Body = ReturnType<typeof requestFor>
type Client = (url: string, key: string, body: Body) => Promise<Completion>

const clients: Record<string, Client> = {
  'openai 7': async (baseURL, apiKey, body) =>
    await new OpenAI({ baseURL, apiKey }).chat.completions.create(body),
  'openai 4': async (baseURL, apiKey, body) =>
    await new OpenAIv4({ baseURL, apiKey }).chat.completions.create(body),
  fetch: async (url, key, body) => {
    const dispatcher = new Agent({ headersTimeout: idleSeconds * 1000, bodyTimeout: idleSeconds * 1000 })
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      dispatcher
    })
    return await answer.json() as Completion
  },
  curl: async (url, key, body) => {
    const { stdout } = await run('curl', [
      '--silent', '--show-error', '--fail', '--speed-limit', '1', '--speed-time', String(idleSeconds), `${url}/chat/completions`,
      '-H', `Authorization: Bearer ${key}`, '-H', 'Content-Type: application/json', '-d', JSON.stringify(body)
    ])
    return JSON.parse(stdout)
  }
}

t.test('every client gets a video that takes longer than its idle timeout, directly and through proxies', async t => {
  const gateway = await start(t)
  const port = Number(new URL(gateway.url).port)
  const ways: Record<string, StartProxy> = { directly: async () => port, ...proxies }
  const asked = Object.entries(ways).flatMap(([way, open]) => {
    const url = open(t, port).then(port => `http://127.0.0.1:${port}/v1`)
    return Object.entries(clients).map(async ([name, ask]) => {
      const completion = await ask(await url, gateway.key, requestFor(`${name}, ${way}`))
      await t.test(`${name}, ${way}`, async t => await checkVideo(t, completion))
    })
  })
  await Promise.all(asked)
  await checkOneEach(t, gateway, asked.length)
})

t.test('a client that gives up on the first answer gets the video by its retries, and pays once', async t => {
  const gateway = await start(t, { heartbeat: false, maxHoldMs: 5_000 })
  const { url: baseURL, key: apiKey } = gateway
  const retrying: Record<string, (body: Body) => Promise<Completion>> = {
    'openai 7, with retries': body => new OpenAI({ baseURL, apiKey, maxRetries: 6 }).chat.completions.create(body),
    'openai 4, with retries': body => new OpenAIv4({ baseURL, apiKey, maxRetries: 6 }).chat.completions.create(body),
    'openai 7, out of time': body => new OpenAI({ baseURL, apiKey, timeout: 4_000, maxRetries: 6 }).chat.completions.create(body),
    'openai 4, out of time': body => new OpenAIv4({ baseURL, apiKey, timeout: 4_000, maxRetries: 6 }).chat.completions.create(body),
    curl: async body => JSON.parse((await run('curl', [
      '--silent', '--fail', '--max-time', '30', '--retry', '8', '--retry-delay', '1', '--retry-all-errors', `${baseURL}/chat/completions`,
      '-H', `Authorization: Bearer ${apiKey}`, '-H', 'Content-Type: application/json', '-d', JSON.stringify(body)
    ])).stdout)
  }
  await Promise.all(Object.entries(retrying).map(async ([name, ask]) => {
    const completion = await ask(requestFor(name))
    await t.test(name, async t => await checkVideo(t, completion))
  }))
  await checkOneEach(t, gateway, Object.keys(retrying).length)
})

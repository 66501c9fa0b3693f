import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
import type { FakeVideoApi } from '../../servers/videos/fake-api.ts'
import { hailuo } from '../../servers/videos/hailuo.ts'
import { klingOmni } from '../../servers/videos/kling-omni.ts'
import { klingTurbo } from '../../servers/videos/kling-turbo.ts'
import { lumaAgents } from '../../servers/videos/luma-agents.ts'
import { omni } from '../../servers/videos/omni.ts'
import { startVideoServer } from '../../servers/videos/server.ts'
import { gatewayAt } from './keyed-gateway.ts'

const video = readFileSync(join(import.meta.dirname, '../../fixtures/videos/two-seconds.mp4'))
const secondNano = 50_000_000

/** A gateway with a fake video API, which a provider with two APIs finds beside the configured address. */
async function start (t: Test, { api, provider, variables, path = '' }: Case, secondNano: number | null) {
  const server = await startVideoServer(api, { video })
  t.teardown(() => server.close())
  const origin = { url: server.url + path, apiKey: api.apiKey, variables }
  const price = secondNano === null ? null : { secondNano }
  return { server, ...await gatewayAt(t, origin, modelFromCatalogue(provider, api.model), price) }
}

interface Case {
  api: FakeVideoApi
  variables: string
  provider: string
  seconds: number
  wrong: number
  allowed: RegExp
  /** The length that is charged: as the API reports it, else as the file has it. */
  charged: number
  path?: string
}

const cases: Case[] = [
  { api: lumaAgents, variables: 'LUMAAI', provider: 'luma', seconds: 5, wrong: 7, allowed: /5 or 10 seconds/, charged: 2 },
  { api: hailuo, variables: 'MINIMAX', provider: 'minimax', seconds: 6, wrong: 7, allowed: /6 or 10 seconds/, charged: 2 },
  { api: omni, variables: 'GEMINI', provider: 'gemini', seconds: 4, wrong: 12, allowed: /10 seconds/, charged: 2 },
  {
    api: klingTurbo, variables: 'KLING', provider: 'kling', seconds: 6, wrong: 16, allowed: /15 seconds/, charged: 5.1, path: '/v1'
  },
  { api: klingOmni, variables: 'KLING', provider: 'kling', seconds: 5, wrong: 16, allowed: /15 seconds/, charged: 5 }
]

for (const one of cases) {
  const { api, provider, seconds, wrong, allowed, charged } = one
  t.test(`${api.model}: a held request and a job, each charged once`, async t => {
    const { server, gateway, post } = await start(t, one, secondNano)
    const model = `${provider}/${api.model}`
    const messages = [{ role: 'user', content: 'A cat walks.' }]

    const refused = await post('/chat/completions', { model, messages, video: { seconds: wrong } })
    t.match(refused, { status: 400, body: { error: { param: 'video.seconds', message: allowed } } })
    t.equal(server.jobs.length, 0)
    t.match(await gateway.app.ledger.balance('default'), { heldNano: 0, spentNano: 0 })

    server.set('succeeded')
    const held = await post('/chat/completions', { model, messages, video: { seconds } })
    t.equal(held.status, 200, JSON.stringify(held.body))
    const file = await request(held.body.choices[0].message.content)
    t.ok(video.equals(Buffer.from(await file.body.arrayBuffer())))
    const job = await post('/videos', { model, prompt: 'A dog walks.', seconds: String(seconds) })
    t.equal(job.status, 200)
    let state = job.body
    while (state.status === 'queued' || state.status === 'in_progress') {
      const response = await request(`${gateway.url}/videos/${job.body.id}`, { headers: gateway.headers })
      state = Object(await response.body.json())
    }
    t.equal(state.status, 'completed', JSON.stringify(state))
    t.match(await gateway.app.ledger.balance('default'), { heldNano: 0 })
    t.equal(server.jobs.length, 2)
    const { spentNano } = await gateway.app.ledger.balance('default')
    t.equal(spentNano, 2 * Math.round(charged * secondNano))
    t.same(server.faults, [])
  })

  t.test(`${api.model}: without a price it is refused, with the unit of one`, async t => {
    const { server, post } = await start(t, one, null)
    const { status, body } = await post('/videos', { model: `${provider}/${api.model}`, prompt: 'A dog walks.' })
    t.match({ status, body }, { status: 400, body: { error: { code: 'model_not_priced', message: /USD per second of video/ } } })
    t.same(server.jobs, [])
  })
}

import t, { type Test } from 'tap'
import { isTrustedPollingUrl } from '../../../services/providers/bfl.ts'
import { mismatch, wireFixture } from './video-jobs/wire.ts'
import { failureOf, imageProviderAt, startImageServer, type Reply, type Seen } from '../../servers/image-server.ts'

/** A fake BFL server that reports `states` in turn. */
async function start (t: Test, states: (url: string) => object[], pollingUrl = (url: string) => `${url}/v1/get_result?id=t1`) {
  let polls = 0
  const server = await startImageServer(t, ({ method }: Seen, url): Reply => {
    if (method === 'POST') return { json: { id: 't1', polling_url: pollingUrl(url), cost: 4.5 } }
    const all = states(url)
    return { json: { id: 't1', ...all[Math.min(polls++, all.length - 1)] } }
  })
  return { server, make: imageProviderAt(t, `${server.url}/v1`, { protocol: 'bfl' }) }
}

const ready = (url: string) => ({ status: 'Ready', result: { sample: `${url}/v1/files/1.png` } })

t.test('submits, then polls the URL in the response', async t => {
  const { server, make } = await start(t, url => [{ status: 'Pending' }, ready(url)])
  const made = await make({ model: 'flux-2-pro', size: { width: 1024, height: 768 } },
    { seed: 1, output_format: 'png', quality: 'high', webhook_url: 'https://x.example.com' })
  t.match(server.seen[0], { path: '/v1/flux-2-pro', headers: { 'x-key': 'sk-upstream-secret' } })
  t.same(server.seen[0]?.body, { prompt: 'A fox', width: 1024, height: 768, seed: 1, output_format: 'png' })
  t.match(server.seen[1], { path: '/v1/get_result?id=t1', headers: { 'x-key': 'sk-upstream-secret' } })
  t.equal(made.costNano, 45_000_000, 'a credit is a cent')
  t.same(made.dropped.toSorted(), ['quality', 'webhook_url'])
  t.same(made.images, [{ url: `${server.url}/v1/files/1.png`, revisedPrompt: null }])
})

t.test('does not send the key to a foreign polling URL', async t => {
  const thief = await startImageServer(t, () => ({ json: { status: 'Ready' } }))
  for (const address of [`${thief.url}/v1/get_result`, 'https://bfl.ai.example.com/x', 'not an address', 'file:///etc/passwd']) {
    const { make } = await start(t, () => [], () => address)
    t.match(await failureOf(make({ model: 'flux-2-pro' })), { kind: 'bad_reply', message: /foreign server/ })
  }
  t.equal(thief.seen.length, 0)
})

t.test('trusts other servers of the provider over TLS only', async t => {
  const base = 'https://api.bfl.ai/v1'
  const trusted = ['https://api.bfl.ai/v1/x', 'https://api.us1.bfl.ai/v1/get_result?id=1', 'https://api.eu.bfl.ai/x']
  const others = [
    'http://api.us1.bfl.ai/x', 'https://api.us1.bfl.ai:8443/x', 'https://evilbfl.ai/x', 'https://bfl.ai.evil.com/x',
    'https://user:pass@api.us1.bfl.ai/x', 'https://127.0.0.1/x', '//api.bfl.ai/x'
  ]
  for (const address of trusted) t.ok(isTrustedPollingUrl(address, base), address)
  for (const address of others) t.notOk(isTrustedPollingUrl(address, base), address)
  t.notOk(isTrustedPollingUrl('https://api.bfl.ai/x', 'https://proxy.example.com/v1'), 'the proxy alone is configured')
})

t.test('distinguishes moderation from failures', async t => {
  const cases = {
    'Request Moderated': 'moderated',
    'Content Moderated': 'moderated',
    Error: 'bad_reply',
    Failed: 'bad_reply',
    'Task not found': 'bad_reply',
    Ready: 'bad_reply'
  }
  for (const [status, kind] of Object.entries(cases)) {
    t.match(await failureOf((await start(t, () => [{ status }])).make({ model: 'flux-2-pro' })), { kind, sent: 'yes' })
  }
})

t.test('retries a failed poll', async t => {
  let polls = 0
  const server = await startImageServer(t, ({ method }, url) => {
    if (method === 'POST') return { json: { id: 't1', polling_url: `${url}/v1/p` } }
    polls += 1
    return polls === 1 ? { status: 503, json: {} } : { json: ready(url) }
  })
  t.equal((await imageProviderAt(t, `${server.url}/v1`, { protocol: 'bfl' })({ model: 'flux-2-pro' })).images.length, 1)
})

const { request = {}, ratioRequest = {}, submitted = {}, answer: answerType = {} } = wireFixture('bfl-images')

t.test('requests have the types of the SDK, and the states are those that it knows', async t => {
  const states: Record<string, string | null> = {
    Pending: null,
    Ready: 'made',
    Error: 'bad_reply',
    Failed: 'bad_reply',
    'Request Moderated': 'moderated',
    'Content Moderated': 'moderated',
    'Task not found': 'bad_reply'
  }
  t.same(Object.keys(states).toSorted(), answerType.properties.status.enum.toSorted())
  for (const [status, end] of Object.entries(states)) {
    for (const field of ['status', 'state']) {
      const answers = (url: string) => [{ ...ready(url), status: undefined, [field]: status }, ready(url)]
      const { server, make } = await start(t, answers)
      t.equal(mismatch(answerType, JSON.parse(JSON.stringify(answers(server.url)[0]))), '')
      const made = make({ model: 'flux-2-pro' })
      if (end === null || end === 'made') {
        t.equal((await made).images.length, 1, status)
        t.equal(server.seen.length, end === null ? 3 : 2)
      } else t.match(await failureOf(made), { kind: end }, status)
    }
  }
  const fields = { seed: 1, output_format: 'jpeg', quality: 'high', user: 'u', raw: true, steps: 9, webhook_url: 'https://x.example' } as const
  for (const model of ['flux-2-pro', 'flux-2-klein-4b', 'flux-pro-1.1', 'flux-pro-1.1-ultra', 'flux-kontext-max']) {
    const { server, make } = await start(t, url => [ready(url)])
    await make({ model, size: { width: 1344, height: 768 } }, fields)
    const { body } = server.seen[0] ?? {}
    const takesRatio = /ultra|kontext/.test(model)
    t.equal(mismatch(takesRatio ? ratioRequest : request, body), '', model)
    t.match(body, takesRatio ? { aspect_ratio: '7:4' } : { width: 1344, height: 768 })
  }
})

t.test('the cost is what the provider reports at the end; a polling URL gets the id it lacks', async t => {
  const submit = { id: 't 1', polling_url: 'https://api.bfl.ai/v1/get_result', cost: 4.5 }
  t.equal(mismatch(submitted, submit), '')
  const server = await startImageServer(t, ({ method }, url) => ({
    json: method === 'POST' ? { ...submit, polling_url: `${url}/v1/get_result` } : { ...ready(url), cost: 6 }
  }))
  const { costNano } = await imageProviderAt(t, `${server.url}/v1`, { protocol: 'bfl' })({ model: 'flux-2-pro' })
  t.equal(costNano, 60_000_000)
  t.equal(server.seen[1]?.path, '/v1/get_result?id=t+1')
})

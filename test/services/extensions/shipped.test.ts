import { createServer } from 'node:http'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import guardrail from '../../../services/extensions/shipped/guardrail.ts'
import promptLog from '../../../services/extensions/shipped/prompt-log.ts'
import redact from '../../../services/extensions/shipped/redact.ts'
import { reply } from '../../servers/upstream.ts'
import { apis, chargeNano, openPluginShop, streamedText } from './plugin-shop.ts'

const secrets = 'ann@example.com, 4111 1111 1111 1111, DE89 3704 0044 0532 0130 00, 10.0.0.1, +49 170 1234567, ACME-42'
const clean = '[email], [card], [iban], [ipv4], [phone], [redacted]'
const options = { detect: ['email', 'card', 'iban', 'ipv4', 'phone'], patterns: [{ pattern: 'ACME-\\d+' }], responses: true }

for (const [name, { path, textOf }] of Object.entries(apis)) {
  t.test(`tollgate/redact replaces patterns in prompts and responses of ${name}`, async t => {
    const shop = await openPluginShop(t, [redact(options)])
    const body = JSON.parse(JSON.stringify(apis[name as keyof typeof apis].body).replace('My card is 4111.', secrets))
    // Cut everywhere, so that no match is in one piece.
    shop.upstream.always(reply({ text: [...secrets], usage: { prompt: 300, completion: 50 } }))
    const whole = await shop.post(path, body)
    t.equal(textOf(whole.json()), clean)
    t.match((await shop.upstream.nextRequest()).body, { messages: [{ content: clean }] })
    const streamed = await shop.post(path, { ...body, stream: true })
    t.equal(streamedText(streamed.text), clean)
    t.same(await shop.books(), { spentNano: 2 * chargeNano, heldNano: 0 })
  })
}

t.test('tollgate/redact leaves pictures, names and the rest of a request as they are', async t => {
  const shop = await openPluginShop(t, [redact({ patterns: [{ pattern: 'a', replacement: '$&' }] })])
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,aaaa' } }
  await shop.post('/chat/completions', { model: 'chat', user: 'ann', messages: [{ role: 'user', content: [{ type: 'text', text: 'a cat' }, picture] }] })
  t.match((await shop.upstream.nextRequest()).body, { user: 'ann', messages: [{ content: [{ text: '$& c$&t' }, picture] }] })
})

t.test('a pattern that takes exponential time does not stop the gateway', async t => {
  const shop = await openPluginShop(t, [redact({ patterns: [{ pattern: '^(a+)+$' }] })])
  const startedMs = performance.now()
  const response = await shop.post('/chat/completions', { model: 'chat', messages: [{ role: 'user', content: `${'a'.repeat(50)}!` }] })
  t.equal(response.status, 500)
  t.ok(performance.now() - startedMs < 3000)
  t.equal(shop.upstream.requests.length, 0)
  t.equal((await shop.post('/chat/completions', apis.chat.body)).status, 200)
})

t.test('tollgate/redact refuses wrong options', async t => {
  for (const wrong of [{}, { detect: ['name'] }, { patterns: [{ pattern: '(' }] }, { patterns: [{ pattern: '' }] }, { detect: 'email' }]) {
    t.throws(() => redact(wrong as object), Error)
  }
})

/** A guardrail that responds with what `judge` returns. */
async function startGuardrail (
  t: Test, judge: (subject: { stage: string, body: object }) => { status?: number, text: string }
) {
  const seen: { stage: string, body: object, account: string }[] = []
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const subject = JSON.parse(Buffer.concat(chunks).toString())
    seen.push(subject)
    const { status = 200, text } = judge(subject)
    response.writeHead(status).end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const allow = { text: '{"action":"allow"}' }

for (const stream of [false, true]) {
  t.test(`tollgate/guardrail judges before and after a call, ${stream ? 'streamed' : 'whole'}`, async t => {
    const server = await startGuardrail(t, ({ stage, body }) => {
      const text = JSON.stringify(body)
      if (text.includes('bomb')) return { text: JSON.stringify({ action: 'block', message: 'No bombs.', code: 'bombs' }) }
      return stage === 'after' ? { text: JSON.stringify({ action: 'replace', body: JSON.parse(text.replace('safe', 'SAFE')) }) } : allow
    })
    const shop = await openPluginShop(t, [guardrail({ url: server.url, headers: { authorization: 'Bearer g' } })])
    const response = await shop.post('/chat/completions', { ...apis.chat.body, stream })
    t.equal(stream ? streamedText(response.text) : apis.chat.textOf(response.json()), 'Your card is SAFE.')
    t.match(server.seen, [{ stage: 'before', account: 'default', kind: 'chat' }, { stage: 'after' }])
    const blocked = await shop.post('/chat/completions', { model: 'chat', stream, messages: [{ role: 'user', content: 'a bomb' }] })
    t.equal(blocked.status, 400)
    t.match(blocked.json().error, { message: 'No bombs.', code: 'bombs' })
    t.same(await shop.books(), { spentNano: chargeNano, heldNano: 0 })
  })
}

t.test('a guardrail that fails ends the request unless it is skipped', async t => {
  for (const result of [{ status: 500, text: '' }, { text: 'no JSON' }, { text: '{"action":"maybe"}' }, { text: '{"action":"replace","body":{}}' }]) {
    const server = await startGuardrail(t, () => result)
    const plugin = guardrail({ url: server.url, stages: ['before'] })
    const shop = await openPluginShop(t, [plugin])
    t.equal((await shop.post('/chat/completions', apis.chat.body)).status, 500, result.text)
    t.equal(shop.upstream.requests.length, 0)
    const skipping = await openPluginShop(t, [{ ...plugin, onError: 'skip' }])
    t.equal((await skipping.post('/chat/completions', apis.chat.body)).status, 200)
  }
  t.throws(() => guardrail({ url: 'x' }), TypeError)
})

t.test('tollgate/prompt-log deletes old files, and logs no key that was not chosen', async t => {
  const folder = join(t.testdir({ 'prompts-2020-01-01.jsonl': '{}', 'other.txt': '' }))
  const plugin = await promptLog({ folder, keys: ['another'], days: 1 })
  t.equal(plugin.onError, 'skip')
  const shop = await openPluginShop(t, [plugin])
  t.equal((await shop.post('/chat/completions', apis.chat.body)).status, 200)
  await shop.gateway.app.close()
  t.same(readdirSync(folder), ['other.txt'])
  for (const wrong of [{ keys: [] }, { folder, keys: 'all' }, { folder, keys: [], days: 0 }]) {
    await t.rejects(promptLog(wrong as unknown as { folder: string, keys: string[] }), TypeError)
  }
})

t.test('tollgate/prompt-log writes a line for each request of a key, streamed and whole', async t => {
  const folder = join(t.testdir(), 'log')
  const login = { name: 'login', authenticate: () => ({ account: 'default', subject: 'ann' }) }
  const probe = await openPluginShop(t, [login])
  await probe.post('/chat/completions', apis.chat.body)
  // The id of a user's key follows from the user.
  const user = (await probe.gateway.app.keys.list()).find(({ label }) => label === 'login: ann')
  const logging = await promptLog({ folder, keys: [user?.id ?? ''] })
  const shop = await openPluginShop(t, [login, logging])
  for (const stream of [false, true]) t.equal((await shop.post('/chat/completions', { ...apis.chat.body, stream })).status, 200)
  await shop.gateway.app.close()
  const lines = await logOf(t, folder)
  t.match(lines, [false, true].map(stream => ({
    account: 'default', costUsd: '0.0008', isStream: stream, responses: ['Your card is safe.'], request: apis.chat.body, cut: false
  })))
})

async function logOf (t: Test, folder: string): Promise<unknown[]> {
  const name = readdirSync(folder).find(name => name.startsWith('prompts-'))
  if (name === undefined) return []
  const path = join(folder, name)
  t.equal(statSync(path).mode & 0o777, 0o600)
  return readFileSync(path, 'utf8').trim().split('\n').map(line => JSON.parse(line))
}

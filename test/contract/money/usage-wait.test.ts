import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import t from 'tap'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { head, send, sequence, startUpstream, type Script } from '../../servers/upstream.ts'

const rates = { cacheReadPico: null, cacheWritePico: null, imageNano: null, secondNano: null }
const price = { ...rates, inputPico: 1_000_000, outputPico: 2_000_000 }

const event = (choices: object[], usage: object | null = null): Buffer => Buffer.from(
  `data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', created: 1, model: 'm', choices, usage })}\n\n`)
const opening = event([{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }])
const finish = event([{ index: 0, delta: {}, finish_reason: 'stop' }])
const counted = event([], { prompt_tokens: 500, completion_tokens: 7, total_tokens: 507 })

for (const dialect of ['openai', 'compatible']) {
  t.test(`${dialect}: a complete stream whose client leaves is charged by its usage`, async t => {
    const upstream = await startUpstream()
    t.teardown(() => upstream.close().catch(() => {}))
    const config = configFor(providerAt(upstream.url, { dialect }), { price, maxOutput: 1000 })
    const gateway = await startGateway(t, { config, env: { TOLLGATE_STARTING_CREDIT: '1' } })

    async function chargeOf (script: Script, until: string): Promise<{ nano: number, ms: number }> {
      const before = await sum()
      upstream.script(script)
      const response = await request(`${gateway.url}/chat/completions`, {
        method: 'POST',
        headers: gateway.headers,
        body: JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
      })
      for await (const piece of response.body) if (String(piece).includes(until)) break
      const leftMs = performance.now()
      await gateway.app.chat.idle()
      const ms = performance.now() - leftMs
      await gateway.app.ledger.flush()
      return { nano: await sum() - before, ms }
    }

    async function sum (): Promise<number> {
      const [row] = await gateway.app.store.all("select coalesce(sum(amount), 0) as sum from entry where kind = 'usage'")
      return Number(Object(row).sum)
    }

    const begin = head({ 'content-type': 'text/event-stream' })
    const pause = (ms: number): Script => () => sleep(ms)
    const end: Script = ({ response }) => { response.end() }
    const usual = sequence(begin, send([opening, finish]), pause(400), send([counted, Buffer.from('data: [DONE]\n\n')]), end)
    t.equal((await chargeOf(usual, '"stop"')).nano, 500 * 1000 + 7 * 2000, 'exact')
    const silent = await chargeOf(sequence(begin, send([opening, finish]), pause(4_000), end), '"stop"')
    t.ok(silent.nano > 0 && silent.nano < 50_000, 'an estimate')
    t.ok(silent.ms > 1_500 && silent.ms < 3_500, `after ${silent.ms} ms`)
    const early = await chargeOf(sequence(begin, send([opening]), pause(4_000), send([finish]), end), 'Hi')
    t.ok(early.ms < 1_000, 'a stream that goes on is ended at once')
  })
}

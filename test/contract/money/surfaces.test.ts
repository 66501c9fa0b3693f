import t from 'tap'
import { checkLedger } from '../../../services/billing/ledger/check/check-books.ts'
import { rejection } from '../../helpers/thrown.ts'
import { refusal } from '../../servers/upstream.ts'
import { noLimits } from '../../../services/shared/limits.ts'
import { chargeNano, openSurfaceShop, surfaces, tokens, type Asking } from './surface-shop.ts'

// Limits, budgets, tags and the models of a key on the APIs of agents, natively and translated, whole and
// streamed, by the official SDKs.

const shop = await openSurfaceShop(t)
const { gateway: { app, url } } = shop
/** A minute's limit is free again two minutes later, at the latest. */
const isWithinWindow = (seconds: number): boolean =>
  Number.isInteger(seconds) && seconds >= 1 && seconds <= 120

for (const surface of surfaces) {
  for (const model of surface.models) {
    for (const stream of [false, true]) {
      const how = `${surface.path}, ${model}, ${stream ? 'streamed' : 'whole'}`
      const base: Asking = { model, stream }
      const ask = (buyer: { key: string }, more: Partial<Asking> = {}) =>
        surface.ask(shop, buyer, { ...base, ...more })
      const refused = async (buyer: { key: string }, more: Partial<Asking> = {}) => {
        const error: unknown = await rejection(ask(buyer, more))
        const headers: unknown = Reflect.get(Object(error), 'headers')
        return { error, retryAfter: headers instanceof Headers ? Number(headers.get('retry-after')) : 0 }
      }
      const upstream = () => shop.upstreams[model]

      t.test(`text has no idempotency, as in chat: ${how}`, async t => {
        const buyer = await shop.open()
        const named = { headers: { 'idempotency-key': 'order 1' } }
        const before = upstream().requests.length
        const answers = await Promise.all([ask(buyer, named), ask(buyer, named)])
        answers.push(await ask(buyer, named))
        t.ok(answers.every(text => text !== '' && text === answers[0]), answers.join('|'))
        t.equal(upstream().requests.length - before, 3)
        t.same((await shop.booked(buyer)).map(({ amount }) => amount), [chargeNano, chargeNano, chargeNano])
      })

      t.test(`requests and tokens per minute are limited: ${how}`, async t => {
        const once = await shop.open({ limits: { ...noLimits, requestsPerMinute: 1 } })
        await ask(once)
        const requests = await refused(once)
        t.match(requests.error, surface.error(429))
        t.ok(isWithinWindow(requests.retryAfter), String(requests.retryAfter))
        // The first answer took 350 tokens, so a second one of up to 100 does not fit.
        const few = await shop.open({ limits: { ...noLimits, tokensPerMinute: tokens + 50 } })
        await ask(few)
        const second = await refused(few)
        t.match(second.error, surface.error(429))
        t.ok(isWithinWindow(second.retryAfter), String(second.retryAfter))
        t.equal((await shop.booked(few)).length, 1)
      })

      t.test(`concurrent requests are limited: ${how}`, async t => {
        const buyer = await shop.open({ limits: { ...noLimits, concurrentRequests: 1 } })
        const released = Promise.withResolvers<void>()
        const begun = Promise.withResolvers<void>()
        upstream().script(async exchange => {
          begun.resolve()
          await released.promise
          return await shop.scripts[model](exchange)
        })
        const first = ask(buyer)
        await begun.promise
        const second = await refused(buyer)
        t.match(second.error, surface.error(429))
        t.ok(second.retryAfter >= 1, String(second.retryAfter))
        released.resolve()
        t.not(await first, '')
        t.not(await ask(buyer), '')
      })

      t.test(`a spent budget ends in 402: ${how}`, async t => {
        const budget = { limitNano: 3 * chargeNano, period: null }
        const buyer = await shop.open({ budget })
        const requests = upstream().requests.length
        await ask(buyer)
        await ask(buyer)
        // What is left covers a third charge, but not the most that a third answer may cost.
        t.match((await refused(buyer)).error, surface.error(402))
        t.same((await shop.booked(buyer)).map(({ amount }) => amount), [chargeNano, chargeNano])
        t.equal(upstream().requests.length - requests, 2)
        t.match((await refused(await shop.open({}, 0))).error, surface.error(402))
      })

      t.test(`tags are booked: ${how}`, async t => {
        const buyer = await shop.open()
        await ask(buyer, { more: { metadata: { project: 'alpha', other: 'x' } } })
        await ask(buyer, { headers: { 'x-tollgate-tags': 'project=beta, team=blue' } })
        await ask(buyer, { headers: { 'x-tollgate-tags': 'team=blue' }, more: { metadata: { project: 'alpha' } } })
        const tags = (await shop.booked(buyer)).map(({ usage }) => usage['tags'])
        t.same(tags, [{ project: 'alpha' }, { project: 'beta', team: 'blue' }, { project: 'alpha', team: 'blue' }])
      })

      t.test(`a key's models cannot be gone round: ${how}`, async t => {
        const other = model === 'plain' ? surface.models[0] : 'plain'
        const buyer = await shop.open({ models: [other] })
        const before = upstream().requests.length
        for (const name of [model, `${model}-provider/some-model`, `${model}-provider/gpt-5-nano`]) {
          t.match((await refused(buyer, { model: name })).error, surface.error(404), name)
        }
        t.type((await refused(buyer, { model: 'auto', more: { routing: { models: [model] } } })).error, Error)
        shop.upstreams[other].script(refusal(500))
        t.match((await refused(buyer, { model: other, more: { fallbacks: [model] } })).error, { status: 502 })
        // JSON with the member twice.
        const body = JSON.stringify({ model, ...surface.body, stream }).replace('{', `{"model":"${model}",`)
        const answer = await fetch(url + surface.path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${buyer.key}` },
          body: body.replace(/"model":"\w+"(?!,"model")/, `"model":"${other}"`)
        })
        t.equal(answer.status, 200)
        await answer.text()
        t.equal(upstream().requests.length, before)
        const sent = shop.upstreams[other].requests.at(-1)?.bytes.toString() ?? ''
        t.equal(sent.match(/"model"/g)?.length, 1, sent)
      })
    }
  }
}

t.test('the books add up', async t => {
  await app.ledger.flush()
  t.same(await checkLedger(app.store), [])
})

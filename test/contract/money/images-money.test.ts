import t from 'tap'
import { forEachEngine } from '../../helpers/engines.ts'
import type { Reply } from '../../servers/image-server.ts'
import { billing, entriesOf, made, openShop, perToken, post, untilAllHaveLeft, type Shop } from '../image-shop.ts'

forEachEngine(t, 'images are held and charged at their price', async (t, database) => {
  const shop = await openShop(t, ({ body }) => made(Number(body.n)), { database })
  const answer = await post(shop, { n: 3, size: '64x64', quality: 'high' })
  t.match(answer, { status: 200, headers: { 'x-tollgate-cost': '0.12' } })
  t.same(shop.server.seen[0]?.body, {
    model: 'gpt-5-nano', prompt: 'A fox', n: 3, size: '64x64', quality: 'high', response_format: 'b64_json'
  })
  t.match(await billing(shop), { balance: 0.88, total_spent: 0.12, held: 0 })
  await post(shop)
  t.match(await entriesOf(shop), [
    { amount: 120_000_000, model: 'picture', estimated: 0 }, { amount: 10_000_000, model: 'picture', estimated: 0 }
  ])
})

forEachEngine(t, 'tokens are held at their worst and charged as counted', async (t, database) => {
  const usage = {
    input_tokens: 20,
    input_tokens_details: { text_tokens: 20, image_tokens: 0 },
    output_tokens: 500,
    total_tokens: 520
  }
  let heldUsd = 0
  const replies = [made(1, usage), made(1)]
  const shop: Shop = await openShop(t, async () => {
    heldUsd = (await billing(shop)).held
    return replies.shift() ?? made()
  }, { database, model: perToken })
  const answer = await post(shop)
  t.equal(heldUsd, 0.040345, 'the bytes of the prompt, what stands around it, and a large image')
  t.match(answer, { headers: { 'x-tollgate-cost': '0.0201' }, body: { usage } })
  await post(shop)
  t.match(await entriesOf(shop), [{ amount: 20_100_000, estimated: 0 }, { amount: 40_345_000, estimated: 1 }])
  t.equal((await billing(shop)).held, 0)
})

forEachEngine(t, 'once images have taken more tokens than was held, more is held', async (t, database) => {
  const usage = {
    input_tokens: 20,
    input_tokens_details: { text_tokens: 20, image_tokens: 0 },
    output_tokens: 3000,
    total_tokens: 3020
  }
  const shop: Shop = await openShop(t, () => made(1, usage), { database, model: perToken })
  await post(shop)
  t.match(await post(shop), { status: 200, headers: { 'x-tollgate-cost': '0.1201' } })
  t.match(await entriesOf(shop), [{ amount: 40_345_000 }, { amount: 120_100_000 }])
})

forEachEngine(t, 'failures and refusals cost nothing', async (t, database) => {
  const html = { headers: { 'content-type': 'image/png' }, bytes: Buffer.from('<html>Too many requests</html>') }
  const replies: [Reply, number, string | null][] = [
    [{ status: 500, json: {} }, 502, 'upstream_bad_reply'],
    [{ status: 400, json: { error: { message: 'No.', code: 'moderation_blocked' } } }, 400, 'moderation_blocked'],
    [{ json: { data: [] } }, 502, 'upstream_bad_reply'],
    [{ json: { data: [{ b64_json: Buffer.from('<html>').toString('base64') }] } }, 502, 'upstream_bad_reply'],
    [{ json: { data: [{ url: 'PAGE' }] } }, 502, 'upstream_bad_reply'],
    [{ json: { data: [{ url: 'https://127.0.0.1:1/secret.png' }] } }, 502, 'upstream_bad_reply'],
    [{ json: { data: [{ url: 'file:///etc/passwd' }] } }, 502, 'upstream_bad_reply']
  ]
  const queue = replies.map(([reply]) => reply)
  const shop = await openShop(t, ({ path }, url) => {
    if (path === '/page.png') return html
    return JSON.parse(JSON.stringify(queue.shift()).replace('PAGE', `${url}/page.png`))
  }, { database })
  for (const [reply, status, code] of replies) {
    t.match(await post(shop), { status, body: { error: { code } } }, JSON.stringify(reply))
  }
  t.match(await billing(shop), { balance: 1, total_spent: 0, held: 0 })
  t.same(await entriesOf(shop), [])
})

forEachEngine(t, 'a client that leaves pays for what was made for it', async (t, database) => {
  const release = Promise.withResolvers<void>()
  const shop = await openShop(t, async () => {
    await release.promise
    return made(2)
  }, { database })
  const leaving = new AbortController()
  const posting = post(shop, { n: 2 }, leaving.signal)
  await shop.server.next()
  leaving.abort()
  await t.rejects(posting)
  await untilAllHaveLeft(shop)
  t.match(await billing(shop), { held: 0.02 })
  release.resolve()
  const late = await shop.gateway.line(({ msg }) => msg === 'the client of images had disconnected')
  t.match(late, { model: 'picture', images: 2, costUsd: 0.02 })
  t.match(await billing(shop), { total_spent: 0.02, held: 0 })
  t.match(await entriesOf(shop), [{ amount: 20_000_000, estimated: 0 }])
})

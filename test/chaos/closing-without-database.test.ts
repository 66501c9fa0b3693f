import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { startPostgres } from '../helpers/postgres.ts'
import { addressOf, spawnGateway } from '../helpers/process.ts'

const text = 'sandbox:delay 120000'
/** What is under way when the database goes, of each kind that records its end. */
const underWay: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { model: 'sandbox-chat', messages: [{ role: 'user', content: text }] },
  '/v1/responses': { model: 'sandbox-chat', stream: true, input: text },
  '/v1/images/generations': { model: 'sandbox-image', prompt: text },
  '/v1/videos': { model: 'sandbox-video', prompt: text },
  '/v1/chat/completions?held': { model: 'sandbox-video', messages: [{ role: 'user', content: text }] }
}
/** Far more than a node needs that waits for nothing. */
const limitMs = 30_000

t.test('a node that is stopped while its database is away gives up what it cannot record, and ends', async t => {
  const postgres = await startPostgres(t)
  const address = await postgres.createSchema()
  const gateway = await spawnGateway(t, { DATABASE_URL: address, TOLLGATE_DRAIN_SECONDS: '1' })
  const { url, key } = await addressOf(gateway)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answers = Object.entries(underWay).map(async ([path, body]) => {
    return await fetch(new URL(path, url), { method: 'POST', headers, body: JSON.stringify(body) })
      .then(async answer => await answer.text(), String)
  })
  const client = new pg.Client(address)
  client.on('error', () => {})
  await client.connect()
  const isUnderWay = async (): Promise<boolean> => {
    const { rows: [row] } = await client.query(`
      select (select count(*) from generation where state = 'running') as images, (select count(*) from job) as videos`)
    return row.images === '1' && row.videos === '2'
  }
  while (!await isUnderWay()) await sleep(20)
  await postgres.kill()
  gateway.child.kill('SIGTERM')
  await Promise.race([once(gateway.child, 'exit'), sleep(limitMs)])
  if (gateway.child.exitCode === null) t.comment(gateway.output().slice(-3_000))
  t.type(gateway.child.exitCode, 'number')
  await Promise.all(answers)
  await postgres.start()
})

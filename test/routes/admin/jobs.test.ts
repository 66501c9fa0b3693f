import t from 'tap'
import { runAt } from '../../cli/helper.ts'
import { buildGateway } from '../../helpers/gateway.ts'
import { createDatabase } from '../../helpers/engines.ts'
import { adminKey } from './helper.ts'
import { until } from '../../helpers/until.ts'

t.test('operators list, show and cancel jobs over HTTP and in the CLI', async t => {
  const { url } = await createDatabase(t, 'sqlite')
  const { app, headers } = await buildGateway(t, { env: { DATABASE_URL: url, TOLLGATE_ADMIN_KEY: adminKey } })
  const ask = async (content: string) => await app.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers,
    payload: { model: 'sandbox-video', messages: [{ role: 'user', content }], video: { seconds: 2, size: '320x180' } }
  })
  const admin = async (path: string, method: 'GET' | 'POST' = 'GET') => {
    const answer = await app.inject({ method, url: `/admin${path}`, headers: { authorization: `Bearer ${adminKey}` } })
    return { status: answer.statusCode, body: answer.json() }
  }
  t.equal((await ask('a\nsandbox:delay 0')).statusCode, 200)
  t.equal((await ask('b\nsandbox:delay 0\nsandbox:fail moderated')).statusCode, 400)
  const waiting = ask('c\nsandbox:delay 600000')
  await until(async () => (await admin('/jobs?state=queued')).body.data.length > 0)

  const { body: list } = await admin('/jobs')
  t.strictSame(list.data.map(({ state }: { state: string }) => state), ['queued', 'failed', 'succeeded'], 'the newest first')
  const [live, failed, done] = list.data
  const running = { account: 'default', model: 'sandbox-video', provider: 'sandbox', delivered: false }
  t.match(live, { ...running, held_usd: 0.004, cost_nano: null })
  t.match(failed, { held_nano: 0, cost_nano: 0, error: { code: 'content_policy_violation' } })
  t.match(done, { cost_usd: 0.004, cost_nano: 4_000_000, videos: [{ seconds: 2, width: 320, height: 180 }] })

  const { body: first } = await admin('/jobs?limit=2')
  t.equal(first.data.length, 2)
  const { body: rest } = await admin(`/jobs?limit=2&after=${first.next}`)
  const idsOf = (jobs: { id: string }[]) => jobs.map(({ id }) => id)
  t.strictSame(idsOf([...first.data, ...rest.data]), idsOf(list.data))
  t.strictSame(idsOf((await admin('/jobs?state=live')).body.data), [live.id])
  t.equal((await admin(`/jobs/${done.id}`)).body.id, done.id)
  t.match(await admin('/jobs/none'), { status: 404, body: { error: { code: 'job_not_found' } } })
  t.match(await admin(`/jobs/${done.id}/cancel`, 'POST'), { status: 409, body: { error: { code: 'job_has_ended' } } })

  await app.store.run(`
    insert into hold (id, account, kind, owner, amount, spare, created_at)
    values ('of-a-node', 'default', 'node', $1, 7, 2, 1), ('only-spare', 'default', 'node', 'other', 3, 3, 1)`,
  [app.ledger.node])
  await app.store.run("update account set held = held + 10 where id = 'default'")
  const { body: holds } = await admin('/holds?account=default')
  t.match(holds.data, [
    { kind: 'job', id: live.id, job: live.id, key: live.key, model: 'sandbox-video', amount_nano: 4_000_000 },
    { kind: 'requests', job: null, amount_nano: 5, node: app.ledger.node, node_seen_at: /^20/, expires_at: null }
  ])
  const amounts: number[] = holds.data.map(({ amount_nano: nano }: { amount_nano: number }) => nano)
  const held = amounts.reduce((sum, nano) => sum + nano, 0)
  t.equal(held, (await admin('/accounts/default')).body.held_nano, 'they are all that is held')
  t.match(await admin('/holds'), { status: 400, body: { error: { param: 'account' } } })
  t.match(await admin('/holds?account=none'), { status: 404, body: { error: { code: 'account_not_found' } } })
  const { out: table } = await runAt(url, ['ledger', 'holds', 'default'])
  t.match(table, new RegExp(`job +0\\.004 +${live.id}`))
  const { out: firstHold } = await runAt(url, ['ledger', 'holds', 'default', '--limit', '1', '--json'])
  const page = JSON.parse(firstHold)
  t.match(page.data, [{ id: live.id }])
  t.match((await admin(`/holds?account=default&after=${page.next}`)).body.data, [{ kind: 'requests' }])

  const shown = await runAt(url, ['jobs', 'list', '--json'])
  t.strictSame(JSON.parse(shown.out).data, (await admin('/jobs')).body.data)
  t.match((await runAt(url, ['jobs', 'list', '--state', 'failed'])).out, /content_policy_violation/)
  const { out } = await runAt(url, ['jobs', 'show', done.id])
  t.match(out, /cost +0\.004[^]*\nAT +STEP +WHAT\n[^]* created\b[^]* submitted\b[^]* charged +\S/)
  const search = async (text: string) => (await runAt(url, ['jobs', 'list', '--search', text])).out
  t.match(await search(live.id.slice(0, -2).toUpperCase()), live.id)
  t.notMatch(await search(live.id.slice(1)), live.id, 'the beginning of it')
  t.match(await runAt(url, ['jobs', 'show', 'none']), { code: 1, err: /does not exist/ })
  t.match(await runAt(url, ['jobs', 'cancel', live.id]), { code: 0, out: /^Cancelling the job/ })
  const ended = await waiting
  t.equal(ended.json().error.code, 'job_cancelled')
  t.match((await admin(`/jobs/${live.id}`)).body, { state: 'cancelled', held_nano: 0, cost_nano: 0 })
})

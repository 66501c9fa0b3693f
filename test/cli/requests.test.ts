import t from 'tap'
import { buildGateway } from '../helpers/gateway.ts'
import { createCommandLine } from './helper.ts'

t.test('requests are listed and shown', async t => {
  const { url, run, json } = await createCommandLine(t)
  const { app, headers } = await buildGateway(t, { env: { DATABASE_URL: url } })
  const ask = (model: string, id: string) => app.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: { ...headers, 'x-request-id': id },
    payload: { model, messages: [{ role: 'user', content: 'sandbox:error 400' }] }
  })
  for (const [model, id] of [['sandbox-chat', 'mine-1'], ['nobody', 'mine-2']] as const) await ask(model, id)
  await app.flushRequestLog()
  await app.ledger.flush()
  t.match(await run('requests'), { code: 0, out: /^ENDED +ID +KEY [^]* mine-2 [^]* mine-1 / })
  t.match(await json('requests', '--status', '404'), { data: [{ id: 'mine-2', status: 404 }], next: null })
  t.match(await json('requests', 'list', '--model', 'sandbox-chat', '--limit', '1'), { data: [{ id: 'mine-1' }] })
  t.match(await json('requests', 'show', 'mine-1'), { data: [{ id: 'mine-1', status: 400, attempts: [{ provider: 'sandbox' }] }] })
  const shown = await run('requests', 'show', 'mine-1')
  t.match(shown, { code: 0, out: /^id +mine-1$/m })
  t.match(shown.out, /^ATTEMPT +STATUS +START MS +MS +FAILURE +WORDS\nsandbox sandbox-chat +400 /m)
  t.match(await run('requests', 'show', 'mine-3'), { code: 1, err: /is not in the log/ })
  for (const wrong of [['--status', '6xx'], ['--outcome', 'good'], ['--from', 'yesterday']]) {
    t.match(await run('requests', ...wrong), { code: 2 }, wrong.join(' '))
  }
})

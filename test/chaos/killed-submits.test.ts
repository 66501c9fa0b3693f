import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { request } from 'undici'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { forEachEngine } from '../helpers/engines.ts'
import { temporaryFolder } from '../helpers/process.ts'
import { jobsIn } from '../services/videos/studio.ts'
import { startLife } from './video-life.ts'
import { until } from '../helpers/until.ts'

const maxSubmits = 5
const takeoverMs = 1_000

for (const cancels of [false, true]) {
  const name = cancels ? 'a cancelled job in doubt ends in the next process' : 'submits are counted over the kill of a process'
  forEachEngine(t, name, async (t, { url: databaseUrl, open }) => {
    let posts = 0
    const children: ChildProcess[] = []
    const answered = Promise.withResolvers<void>()
    const provider = createServer(async (exchange, response) => {
      if (exchange.method === 'POST') posts++
      if (posts === 2) {
        await answered.promise
        children[0]?.kill('SIGKILL')
      }
      response.writeHead(500).end('{"message": "internal error"}')
    })
    provider.listen(0, '127.0.0.1')
    await once(provider, 'listening')
    t.teardown(() => provider.close())
    const options = {
      databaseUrl,
      providerUrl: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
      mediaFolder: await temporaryFolder(t),
      takeoverMs,
      env: { TOLLGATE_MAX_LAG_MS: '60000' },
      onSpawn: (child: ChildProcess) => {
        children.push(child)
        t.teardown(() => child.kill('SIGKILL'))
      }
    }
    const store = await open()
    const { url, key, child } = await startLife(options)
    const exited = once(child, 'exit')
    const answer = await request(`${url}/videos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'film', prompt: 'a ball' })
    })
    t.equal(answer.statusCode, 200)
    await answer.body.dump()
    answered.resolve()
    await exited
    t.match(await jobsIn(store), [{ state: 'submitting', attempts: 2 }])
    if (cancels) await store.run('update job set cancel = 1')
    await startLife(options)
    await until(async () => (await jobsIn(store))[0]?.finishedAt != null)
    const code = cancels ? 'job_cancelled' : 'upstream_submit_unknown'
    t.match(await jobsIn(store), [{ failure: { code } }])
    t.equal(posts, cancels ? 2 : maxSubmits)
    t.match(await store.all("select amount from entry where kind = 'suspense'"), [{ amount: 5_000_000 }])
    t.match(await store.all("select * from hold where kind = 'job' and state = 0"), [])
    t.strictSame(await checkLedger(store), [])
  })
}

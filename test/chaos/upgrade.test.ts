import t from 'tap'
import { createEmptyDatabase, forEachEngine } from '../helpers/engines.ts'
import { addressOf, spawnGateway, type GatewayProcess } from '../helpers/process.ts'
import { olderRelease } from './older-release.ts'
import { checkLedger } from './ledger-check.ts'

// The promise of docs/many-nodes.md: the previous version works on the new tables while both run. Releases
// have no tags yet: these are the last commits before two of the newest migrations.
const older = {
  'before background jobs': '5a8e3819a27843a030d8ad69d96e899e3413841d^',
  'before sessions of the console': '9fb557588456be8d288739e993d0694c6a8de180^'
}

async function chat (url: string, key: string): Promise<number> {
  const answer = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] })
  })
  await answer.text()
  return answer.status
}

async function stop ({ child, exited }: GatewayProcess): Promise<number | null> {
  child.kill('SIGTERM')
  return await exited
}

for (const [name, commit] of Object.entries(older)) {
  const title = `an old node goes on while a new one starts on its database: ${name}`
  forEachEngine(t, title, async (t, { engine, url: database }) => {
    const root = await olderRelease(t, commit)
    if (root === null) {
      t.comment(`skipped: this checkout does not have ${commit}`)
      return
    }
    const env = { DATABASE_URL: database, TOLLGATE_ADMIN_KEY: 'operator-key-of-this-test', TOLLGATE_DRAIN_SECONDS: '5' }
    const old = await spawnGateway(t, env, { root })
    const { url, key } = await addressOf(old)
    for (let sent = 0; sent < 5; sent++) t.equal(await chat(url, key), 200, 'the old node alone')

    const next = await spawnGateway(t, env)
    const { url: nextUrl } = await addressOf(next)
    for (let sent = 0; sent < 10; sent++) {
      t.same(await Promise.all([chat(url, key), chat(nextUrl, key)]), [200, 200], 'both')
    }
    t.equal(await stop(old), 0)
    t.equal(await chat(nextUrl, key), 200, 'the new node alone')
    t.notMatch(old.output() + next.output(), /"level":(?:50|60)/, 'no error is logged')

    const usage = await fetch(`${nextUrl.replace('/v1', '')}/admin/entries?kind=usage&limit=100`, {
      headers: { authorization: 'Bearer operator-key-of-this-test' }
    })
    const { data } = await usage.json() as { data: unknown[] }
    t.equal(data.length, 26, 'each answer is in the books once')
    t.equal(await stop(next), 0)
    t.match(await checkLedger(t, database), { code: 0 }, `${engine}: the books add up`)
  }, createEmptyDatabase)
}

import t from 'tap'
import { forEachEngine } from '../../helpers/engines.ts'
import { buildGateway } from '../../helpers/gateway.ts'
import { seed } from '../../helpers/seed.ts'
import { adminKey, asker } from './helper.ts'

forEachEngine(t, 'lists of many rows are read by an index and in pages', async (t, { engine, url, open }) => {
  const { app } = await buildGateway(t, { env: { DATABASE_URL: url, TOLLGATE_ADMIN_KEY: adminKey } })
  await seed(app.store, { keys: 2_000, requests: 20_000, media: 20_000 })
  const admin = asker(app)
  for (const path of ['/keys', '/requests', '/requests?account=default', '/requests?key=seed7', '/media', '/media?account=default']) {
    const { status, body } = await admin('GET', `${path}${path.includes('?') ? '&' : '?'}limit=20`)
    t.match([status, body.data.length], [200, 20], path)
  }
  const store = await open()
  if (engine === 'postgres') await store.run('analyze')
  const plans: [sql: string, index: RegExp][] = [
    ["select * from media where (created_at, id) < (9e15, '') and expires_at > 0 order by created_at desc, id desc limit 20", /media_created/],
    ["select * from request_log where account = 'other' and (at, seq) < (9e15, 9) order by at desc, seq desc limit 20", /request_log_account_at/],
    ["select * from request_log where api_key = 'seed7' and (at, seq) < (9e15, 9) order by at desc, seq desc limit 20", /request_log_key_at/]
  ]
  for (const [sql, index] of plans) {
    const explain = engine === 'sqlite' ? 'explain query plan' : 'explain'
    const rows = await store.all<Record<string, string>>(`${explain} ${sql}`)
    t.match(rows.map(row => row['detail'] ?? row['QUERY PLAN']).join('\n'), index, sql)
  }
})

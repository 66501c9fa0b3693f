import Fastify from 'fastify'
import fp from 'fastify-plugin'
import t from 'tap'
import usageRollUp from '../../../plugins/gateway/usage-roll-up.ts'
import { createDatabase } from '../../helpers/engines.ts'
import { until } from '../../helpers/until.ts'

t.test('entries are rolled up while the gateway runs, and the rest is a metric', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const app = Fastify()
  t.teardown(() => app.close())
  let waiting: () => unknown = () => null
  const metrics = { gauge: (_: object, read: () => unknown) => { waiting = read } }
  app.register(fp(async app => { app.decorate('store', store) }, { name: 'store' }))
  app.register(fp(async app => { app.decorate('metrics', metrics as never) }, { name: 'metrics' }))
  app.register(usageRollUp, { everyMs: 10 })
  await app.ready()
  const add = () => store.run(`
    insert into entry (at, debit, credit, amount, kind, chain) values (0, 'a', 'revenue', 1, 'usage', 'a')`)
  const rolledUp = async () => (await store.get<{ seq: number }>('select seq from usage_progress'))?.seq
  for (let seq = 1; seq <= 2; seq++) {
    await add()
    await until(async () => await rolledUp() === seq)
  }
  t.equal(await waiting(), 0)
  t.same(await store.all('select chain, day, amount from usage_day'), [{ chain: 'a', day: 0, amount: 2 }])
  await app.close()
  await add()
  t.equal(await waiting(), 1)
})

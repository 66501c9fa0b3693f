import t from 'tap'
import { createDatabase } from '../../helpers/engines.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { openBrowser } from '../console/browser.ts'
import { adminKey, asker } from './helper.ts'
import { insertJob } from './rows.ts'

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`accounts and keys are found by the beginning of their name or id, page by page (${engine})`, async t => {
    const { url: database } = await createDatabase(t, engine)
    const env = { DATABASE_URL: database, TOLLGATE_ADMIN_KEY: adminKey }
    const { app, url, key } = await startGateway(t, { env })
    const admin = asker(app)
    const names = {
      'team-1': 'Acme Berlin',
      'team-2': 'acme Paris',
      'acme-3': 'Third',
      'team-4': 'Not acme',
      'team-5': '100 % Acme',
      acme: 'ACME'
    }
    for (const [id, name] of Object.entries(names)) await admin('POST', '/accounts', { id, name })
    const found = async (query: string) => (await admin('GET', `/accounts?${query}`)).body.data.map(({ id }: { id: string }) => id)
    t.same(await found('search=AC'), ['acme', 'team-1', 'team-2', 'acme-3'], 'by name first, and each once')
    t.same(await found('search=acme-'), ['acme-3'])
    t.same(await found(`search=${encodeURIComponent('100 %')}`), ['team-5'], 'wildcards are characters')
    t.same(await found('search=%25'), [])
    t.same(await found('search=budget'), [], 'budgets of keys are no accounts')
    const first = await admin('GET', '/accounts?search=ac&limit=2')
    t.match(first.body, { data: [{ id: 'acme' }, { id: 'team-1' }], has_more: true })
    const rest = await admin('GET', `/accounts?search=ac&limit=2&after=${first.body.next}`)
    t.match(rest.body, { data: [{ id: 'team-2' }, { id: 'acme-3' }], has_more: false, next: null })
    t.equal((await admin('GET', `/accounts?after=${first.body.next}`)).status, 400, 'a cursor is of its list')
    for (const wrong of ['search=', 'search=%00', `search=${'x'.repeat(201)}`]) {
      t.match(await admin('GET', `/accounts?${wrong}`), { status: 400, body: { error: { param: 'search' } } }, wrong.slice(0, 20))
    }

    const labelled: Record<string, string> = {}
    for (const [label, account] of [['Robot', 'acme'], ['robot 2', 'default'], ['Robot', 'default'], ['other', 'acme']] as const) {
      const { body } = await admin('POST', '/keys', { account, label, budget: { amount_usd: 1 } })
      labelled[body.id] = `${label} ${account}`
    }
    const keysFound = async (query: string) => (await admin('GET', `/keys?${query}`)).body.data
      .map(({ id }: { id: string }) => labelled[id])
    t.same((await keysFound('search=ROBOT')).toSorted(), ['Robot acme', 'Robot default', 'robot 2 default'])
    t.same(await keysFound('search=robot&account=acme'), ['Robot acme'])
    const [id = ''] = Object.keys(labelled)
    t.same(await keysFound(`search=${id.slice(0, 10).toUpperCase()}`), ['Robot acme'])
    const one = await admin('GET', '/keys?search=robot&limit=1')
    const two = await admin('GET', `/keys?search=robot&limit=2&after=${one.body.next}`)
    t.equal(new Set([...one.body.data, ...two.body.data].map(({ id }) => id)).size, 3)
    t.equal(two.body.next, null)

    await insertJob(app.store, id, app.ledger.node)
    t.match((await admin('GET', '/jobs?search=JOB_')).body.data, [{ id: 'job_1' }])
    t.match((await admin('GET', '/jobs?search=job_1&state=running&model=video')).body.data, [{ id: 'job_1' }])
    t.same((await admin('GET', '/jobs?search=job_2')).body.data, [])
    t.same((await admin('GET', '/jobs?search=ob_')).body.data, [])

    const browser = openBrowser(url)
    await browser.signIn(key)
    const own = (await browser.ask('GET', '/admin/keys?search=robot')).body.data
    t.same(own.map(({ account }: { account: string }) => account), ['default', 'default'], 'a user finds their own')
  })
}

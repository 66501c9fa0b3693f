import t from 'tap'
import { builtInPolicies } from '../../../services/config/read/policies.ts'
import { configFor, providerAt, startGateway } from '../../helper.ts'
import { adminKey } from '../admin/helper.ts'
import { openBrowser } from '../console/browser.ts'

const messages = [{ role: 'user', content: 'Explain how a combustion engine works.' }]
const domains = ['knowledge', 'chat', 'code', 'math', 'extraction'] as const
const quality = (share: number) => Object.fromEntries(domains.map(domain => [domain, share]))
const noPrice = { cacheReadPico: null, cacheWritePico: null, imageNano: null, secondNano: null }

t.test('all policies are compared for one request, in a session too', async t => {
  const config = configFor(providerAt('http://127.0.0.1:9/v1'))
  const [model] = config.models
  if (model === undefined) return t.fail('no model')
  const models = [['small', 0.5, 1], ['large', 0.9, 100]] as const
  config.models = models.map(([id, share, dollars]) => ({
    ...model,
    id,
    quality: quality(share),
    price: { ...noPrice, inputPico: dollars * 1e6, outputPico: dollars * 1e6 }
  }))
  const never = { id: 'auto:never', models: ['large'], costWeight: null, latencyWeight: null, ceilingNano: 1 }
  config.policies = [...builtInPolicies(), never]
  const { app, url } = await startGateway(t, { env: { TOLLGATE_ADMIN_KEY: adminKey }, config })
  const { key } = await app.keys.create({ account: 'default', label: '', models: ['small'] })
  const browser = openBrowser(url)
  await browser.signIn(adminKey)
  const { status, body } = await browser.ask('POST', '/admin/routing/comparisons', { messages })
  t.equal(status, 200)
  const of = (name: string) => body.decisions.find(({ policy }: { policy: string }) => policy === name)
  t.same(body.decisions.map(({ policy }: { policy: string }) => policy), ['auto', 'auto:cost', 'auto:never', 'auto:quality', 'auto:speed'])
  t.equal(of('auto:quality').decision.model, 'large')
  t.equal(of('auto:cost').decision.model, 'small')
  t.same(of('auto').decision.candidates.map((one: { model: string }) => one.model).sort(), ['large', 'small'], 'every model is shown')
  t.match(of('auto:never'), { decision: null, error: { message: String } })
  const weighted = async (value: number) => {
    const answer = await browser.ask('POST', '/admin/routing/comparisons', { messages, routing: { cost_quality: value } })
    return answer.body.decisions[0].decision.model
  }
  t.not(await weighted(0), await weighted(10), 'the weight is a what-if')

  await browser.signIn(key)
  t.equal((await browser.ask('POST', '/admin/routing/comparisons', { messages })).status, 403)
  const own = await browser.ask('POST', '/v1/routing/comparisons', { messages })
  t.equal(own.body.decisions[0].decision.model, 'small')
  t.notMatch(own.text, '"model":"large","quality":0', 'a key sees only the models that it may use')
  t.match(await browser.ask('POST', '/v1/routing/comparisons', {}), { status: 400, body: { error: { param: 'messages' } } })
})

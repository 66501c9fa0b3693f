import t, { type Test } from 'tap'
import { request } from 'undici'
import { requestsDefaults } from '../../../services/config/defaults.ts'
import type { DeploymentConfig } from '../../../services/config/catalogue/types.ts'
import { createDatabase } from '../../helpers/engines.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { createRandom } from '../../services/billing/ledger/random.ts'
import { refusal, reply, scripts, startUpstream, type Upstream } from '../../servers/upstream.ts'
import { until } from '../../helpers/until.ts'

interface Shop { nodes: [Gateway, Gateway], upstreams: Upstream[] }

const system = { role: 'system', content: 'You are a helpful assistant.' }
const seed = Number(process.env.SEED ?? 20_261)

/** Two nodes on one database; the model `chat` has a deployment at each of several providers. */
async function open (t: Test, places: Partial<DeploymentConfig>[] = [{}, {}], breaker = {}): Promise<Shop> {
  const upstreams: Upstream[] = []
  while (upstreams.length < places.length) {
    const upstream = await startUpstream()
    t.teardown(() => upstream.close().catch(() => {}))
    upstreams.push(upstream)
  }
  const providers = upstreams.map(({ url }, index) => providerAt(url, { id: `up-${index}` }))
  const deployments = places.map((place, index) => {
    return { provider: `up-${index}`, model: 'gpt-5-nano', weight: 1, priority: 0, ...place }
  })
  const base = configFor(providerAt(''), { deployments })
  const requests = { ...requestsDefaults, retries: 0 }
  const config = { ...base, providers, requests, breaker: { ...base.breaker, ...breaker } }
  const { url } = await createDatabase(t, 'sqlite')
  const env = { DATABASE_URL: url }
  const one = await startGateway(t, { config, env })
  const two = await startGateway(t, { config, env })
  return { nodes: [one, { ...two, headers: one.headers }], upstreams }
}

async function post (
  { url, headers }: Gateway, body: object, more: Record<string, string> = {}, path = '/chat/completions'
): Promise<string> {
  const answer = await request(url + path, {
    method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify({ model: 'chat', ...body })
  })
  await answer.body.dump()
  return `${answer.statusCode} ${answer.headers['x-tollgate-provider']}`
}

/** The messages of a conversation at its turn `turn`. */
function messagesAt (turn: number, question: string): object[] {
  const later = Array.from({ length: turn }, (_, n) => [
    { role: 'assistant', content: `Answer ${n}.` }, { role: 'user', content: `And then, ${n}?` }
  ])
  return [system, { role: 'user', content: question }, ...later.flat()]
}

/** Which providers answered each of several turns, the nodes taking turns. */
async function providersOf (
  { nodes }: Shop, turns: number, ask: (turn: number) => { body: object, headers?: Record<string, string> }
): Promise<string[]> {
  const found: string[] = []
  for (let turn = 0; turn < turns; turn++) {
    const { body, headers } = ask(turn)
    found.push(await post(nodes[turn % 2] ?? nodes[0], body, headers))
  }
  return found
}

t.test('30 turns of a conversation stay at one of two deployments, over two nodes, whatever names it', async t => {
  const shop = await open(t)
  const random = createRandom(seed)
  const unlike = (turn: number): object[] => [{ role: 'user', content: `Turn ${turn}, ${random.next()}` }]
  const id = String(random.next())
  const ways = {
    prompt_cache_key: (turn: number) => ({ body: { messages: unlike(turn), prompt_cache_key: id } }),
    'x-session-id': (turn: number) => ({ body: { messages: unlike(turn) }, headers: { 'x-session-id': id } }),
    'x-session-affinity': (turn: number) => ({ body: { messages: unlike(turn) }, headers: { 'x-session-affinity': id } }),
    'x-tollgate-conversation': (turn: number) => ({
      body: { messages: unlike(turn) }, headers: { 'x-tollgate-conversation': id }
    }),
    'the beginning of the messages': (turn: number) => ({ body: { messages: messagesAt(turn, id) } }),
    'a stream': (turn: number) => ({ body: { messages: messagesAt(turn, id), stream: true } })
  }
  for (const [name, ask] of Object.entries(ways)) {
    const found = new Set(await providersOf(shop, 30, ask))
    t.equal(found.size, 1, `${name}: ${[...found].join(', ')}; seed ${seed}`)
  }
  const without = new Set(await providersOf(shop, 30, turn => ({ body: { messages: unlike(turn) } })))
  t.equal(without.size, 2, `other conversations go to both; seed ${seed}`)
})

t.test('a name counts before the messages, and prompt_cache_key before a header', async t => {
  const shop = await open(t)
  const named = async (body: object, headers?: Record<string, string>): Promise<string> => {
    const [found = ''] = await providersOf(shop, 1, () => ({ body: { messages: messagesAt(0, 'Hello'), ...body }, headers }))
    return found
  }
  const names = Array.from({ length: 12 }, (_, n) => `name-${n}`)
  const at = new Map<string, string>()
  for (const name of names) at.set(name, await named({ prompt_cache_key: name }))
  t.equal(new Set(at.values()).size, 2, 'different names go to different deployments')
  for (const name of names) {
    t.equal(await named({}, { 'x-session-id': name, 'x-session-affinity': 'name-0' }), at.get(name))
    t.equal(await named({ prompt_cache_key: name }, { 'x-session-id': 'name-0' }), at.get(name))
    t.equal(await named({ prompt_cache_key: '' }, { 'x-tollgate-conversation': name }), at.get(name))
  }
})

t.test('a conversation leaves its deployment while that fails or is out, and comes back', async t => {
  const shop = await open(t, [{}, {}], { failures: 1, openMs: 40 })
  const turn = async (node: 0 | 1): Promise<string> => await post(shop.nodes[node], { messages: messagesAt(1, 'Hello') })
  const home = await turn(0)
  const upstream = shop.upstreams[Number(home.at(-1))]
  const other = home.endsWith('0') ? '200 up-1' : '200 up-0'
  upstream?.always(refusal(500))
  t.equal(await turn(0), other, 'it fails')
  t.equal(await turn(0), other, 'its circuit breaker is open')
  t.equal(await turn(1), other, 'the other node finds out by itself')
  upstream?.always(reply())
  for (const node of [0, 1] as const) {
    await until(async () => await turn(node) === home)
    t.equal(await turn(node), home)
  }
})

t.test('a lower priority goes before affinity', async t => {
  const shop = await open(t, [{ priority: 1 }, { priority: 0 }, { priority: 1 }])
  const found = await providersOf(shop, 20, turn => ({ body: { messages: messagesAt(0, `Question ${turn}`) } }))
  t.strictSame(new Set(found), new Set(['200 up-1']))
})

t.test('legacy completions stay where the beginning of their prompt was', async t => {
  const shop = await open(t)
  const story = 'Once upon a time there was a gateway. '.repeat(100)
  const found: string[] = []
  for (let turn = 0; turn < 10; turn++) {
    const body = { prompt: `${story} ${'And then. '.repeat(turn)}`, max_tokens: 5 }
    found.push(await post(shop.nodes[turn % 2] ?? shop.nodes[0], body, {}, '/completions'))
  }
  t.equal(new Set(found).size, 1)
})

t.test('equal prompts go to the other deployments once theirs has many more calls than its share', async t => {
  const { nodes: [node], upstreams } = await open(t)
  for (const upstream of upstreams) upstream.always(scripts.silent())
  const messages = messagesAt(0, 'The same for all')
  const controller = new AbortController()
  const running = Array.from({ length: 60 }, () => request(`${node.url}/chat/completions`, {
    method: 'POST',
    headers: node.headers,
    body: JSON.stringify({ model: 'chat', messages, stream: true }),
    signal: controller.signal
  }).catch(() => null))
  const counts = (): number[] => upstreams.map(({ requests }) => requests.length)
  await until(() => counts().reduce((sum, count) => sum + count) >= 60)
  const [least = 0, most = 0] = counts().toSorted((one, other) => one - other)
  t.equal(least + most, 60)
  t.ok(least >= 5 && least < most, `${most} at its deployment, ${least} at the other`)
  controller.abort()
  await Promise.all(running)
})

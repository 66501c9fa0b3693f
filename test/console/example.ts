import { createAccounts } from '../../services/billing/ledger/accounts.ts'
import { createTransfers } from '../../services/billing/ledger/transfers.ts'
import { insertAlert } from '../../services/operations/alerts/new-alert.ts'
import { chat, type Stand } from './stand.ts'

const dayMs = 86_400_000
const sizes = [
  { model: 'claude-sonnet-5', provider: 'anthropic', nano: 9_100_000 },
  { model: 'gpt-5-nano', provider: 'openai', nano: 1_200_000 },
  { model: 'gemini-3-pro', provider: 'gemini', nano: 6_400_000 },
  { model: 'flux-2', provider: 'fal', nano: 40_000_000 }
]

/** Where one thing of each kind is. */
export interface Example { account: string, key: string, request: string, failed: string, job: string }

/** Uses a gateway in all its ways, so that no page of its console is empty. */
export async function fillGateway (stand: Stand): Promise<Example> {
  const { admin, url, headers } = stand
  await admin('POST', '/accounts', { id: 'acme', name: 'Acme' })
  await admin('POST', '/accounts', { id: 'research', name: 'Research', parent: 'acme', limits: { requests_per_minute: 600 } })
  await admin('POST', '/accounts', { id: 'shop', name: 'Web shop', parent: 'acme' })
  await addCredits(stand)
  await admin('PATCH', '/accounts/research', { soft_budget: { amount_usd: 50, period: 'month' } })
  const budget = { amount_usd: 20, period: 'month' }
  const { id: key } = await admin('POST', '/keys', { account: 'research', label: 'Notebook', budget, limits: { tokens_per_minute: 200_000 } })
  await admin('POST', '/keys', { account: 'shop', label: 'Search box', models: ['gpt-5-*'] })
  await admin('POST', '/keys', { account: 'default', role: 'finance', label: 'Bo' })
  await admin('PATCH', `/keys/${key}`, { budget: { ...budget, amount_usd: 25 } })
  await addUsage(stand, key)
  let request = ''
  for (let count = 1; count < 12; count++) {
    request = await chat(stand, { messages: [{ role: 'user', content: `Say: "${'a gateway '.repeat(count)}"` }] })
  }
  const failed = await chat(stand, { model: 'none' })
  const post = async (path: string, body: object): Promise<{ id: string }> => {
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return await response.json() as { id: string }
  }
  for (const prompt of ['a lighthouse', 'a harbour', 'a tide pool']) {
    await post('/images/generations', { model: 'sandbox-image', prompt, size: '512x384' })
  }
  await fetch(`${url}/videos`, { method: 'POST', headers, body: JSON.stringify({ model: 'sandbox-video', prompt: 'waves', seconds: '2' }) })
  await untilJob(stand, 'succeeded')
  const { data: [job] } = await admin('GET', '/jobs')
  await addAlerts(stand, key)
  return { account: 'research', key, request, failed, job: job?.id ?? '' }
}

async function untilJob ({ admin }: Stand, state: string): Promise<void> {
  for (let count = 0; count < 200; count++) {
    const { data } = await admin('GET', `/jobs?state=${state}`)
    if (data.length > 0) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`no job is ${state}`)
}

/** Deposits and allocations of forty days ago. */
async function addCredits ({ app: { store } }: Stand): Promise<void> {
  const at = store.clock() - 40 * dayMs
  await store.run("update account set created_at = $1 where kind = 'account'", [at])
  const [accounts, transfers] = [createAccounts(store), createTransfers(store)]
  await accounts.deposit({ id: 'wire-7301', account: 'acme', amountNano: 500e9, at })
  await transfers.transfer({ id: 'quarter-4', from: 'acme', to: 'research', amountNano: 120e9, reason: 'budget of the quarter', at })
  await transfers.transfer({ id: 'shop-4', from: 'acme', to: 'shop', amountNano: 80e9, at })
}

/** Usage of the last thirty days; the books add up. */
async function addUsage ({ app: { store } }: Stand, key: string): Promise<void> {
  await store.run("insert into chain (id, account) select 'research', id from account where id in ('research', 'acme') on conflict do nothing")
  const now = store.clock()
  let sum = 0
  for (let day = 29; day >= 0; day--) {
    for (const [index, { model, provider, nano }] of sizes.entries()) {
      const weekend = new Date(now - day * dayMs).getUTCDay() % 6 === 0 ? 4 : 1
      const amount = Math.round(nano * (8 + (day * 7 + index * 13) % 11) / weekend)
      sum += amount
      const usage = index === 3 ? '{"images":3}' : `{"prompt":${1800 + day * 40},"completion":${300 + index * 90}}`
      await store.run(`
        insert into entry (at, debit, credit, amount, kind, ref, model, provider, usage, api_key, chain)
        values ($1, 'research', 'revenue', $2, 'usage', $3, $4, $5, $6, $7, 'research')`,
      [now - day * dayMs - index * 3_600_000, amount, `req_${day}_${index}`, model, provider, usage, key])
    }
  }
  await store.run("update account set spent = spent + $1 where id in ('research', 'acme')", [sum])
}

async function addAlerts ({ app: { store } }: Stand, key: string): Promise<void> {
  const now = store.clock()
  const subject = { key, key_label: 'Notebook', account: 'research', period: new Date(now).toISOString().slice(0, 7) }
  for (const [index, percent] of [50, 80].entries()) {
    const data = { ...subject, threshold_percent: percent, budget_nano: 25e9, spent_nano: percent / 4 * 1e9 }
    const alert = { source: `budget:${key}`, period: '25', threshold: percent, type: 'budget.threshold_reached', data } as const
    await insertAlert(store, alert, now - (2 - index) * dayMs)
  }
  const data = { account: 'shop', account_name: 'Web shop', balance_nano: 4e9, limit_nano: 5e9 }
  await insertAlert(store, { source: 'low:shop', period: '1', threshold: 0, type: 'balance.low', data }, now)
  await store.run("update alert set delivered_at = created_at + 900, attempts = 1, next_attempt_at = null where type <> 'balance.low'")
  await store.run("update alert set attempts = 3, last_error = 'the server answered with status 502' where type = 'balance.low'")
}

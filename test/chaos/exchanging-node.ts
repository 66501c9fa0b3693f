import { createAllowanceExchange } from '../../services/keys/limits/allowances.ts'
import { openStore } from '../../services/store/open.ts'

/**
 * A node that exchanges allowances of the given scopes without a pause until it is killed. Arguments: URL of
 * the store, scopes. It sends its parent `ready`.
 */
const [url = '', ...scopes] = process.argv.slice(2)
const exchange = createAllowanceExchange(await openStore(url), 'exchanging')
const nowMs = 600_000
const requests = scopes.map(scope => ({
  scope, kind: 'requests', limit: 1_000_000, minute: 10, taken: 0, need: 0, waiting: 0, wanted: 1, returned: null
} as const))
await exchange(requests, nowMs)
process.send?.('ready')
for (;;) await exchange(requests, nowMs)

import { createAccounts } from '../../../services/billing/ledger/accounts.ts'
import { openStore } from '../../../services/store/open.ts'

/**
 * A process that makes deposits of 1 and prints the id of each one once it is booked: address, name, how
 * many.
 */
const [url = '', name = '', count = ''] = process.argv.slice(2)
const store = await openStore(url)
const accounts = createAccounts(store)
await accounts.create({ id: 'shared' })
for (let number = 1; number <= Number(count); number++) {
  const id = `${name}-${number}`
  await accounts.deposit({ id, account: 'shared', amountNano: 1 })
  process.stdout.write(`${id}\n`)
}
await store.close()

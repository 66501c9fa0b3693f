import { SuspenseClosing, SuspenseItem, SuspenseList, SuspenseQuery } from '../../../../schemas/admin/suspense.ts'
import { amountText } from '../amounts.ts'
import { amounts, fields } from '../format/columns.ts'
import { operation, option, type AdminOperation } from '../operation.ts'
import { toPageRequest } from '../query.ts'
import { clearSuspense, listSuspense, writeOffSuspense } from '../suspense.ts'

/** Costs that no account was charged. */
export const suspenseOperations = [
  operation('GET /suspense', 'read', {
    summary: 'List costs that no account was charged',
    query: SuspenseQuery,
    result: SuspenseList,
    run: (administration, { query }) => listSuspense(administration, { ...query, ...toPageRequest(query) }),
    command: {
      name: 'ledger suspense list',
      description: 'list them, newest first',
      options: {
        account: option('--account <account>', 'only requests of this account'),
        state: option('--state <state>', 'only amounts in this state')
      },
      columns: () => [
        ...fields('at', 'id', 'state', 'reason', 'account'),
        ...amounts(['amount']),
        ...fields('model', 'ref'),
        { name: 'note', cell: ({ closing }) => closing?.reason ?? '' }
      ]
    }
  }),
  closing('clear', clearSuspense, {
    summary: 'Charge an amount in suspense to its account', description: 'charge an amount to its account', done: 'Cleared'
  }),
  closing('write-off', writeOffSuspense, {
    summary: 'Write off an amount in suspense at the operator\'s expense',
    description: 'write an amount off at the operator\'s expense',
    done: 'Written off'
  })
]

function closing (
  verb: string, close: typeof clearSuspense, { summary, description, done }: Record<'summary' | 'description' | 'done', string>
): AdminOperation {
  return operation(`POST /suspense/:id/${verb}`, 'money', {
    summary,
    body: SuspenseClosing,
    result: SuspenseItem,
    async make (administration, { id, body }) {
      const { item, created } = await close(administration, id, body)
      return { made: item, created }
    },
    command: {
      name: `ledger suspense ${verb} <id>`,
      description,
      options: { reason: option('--reason <text>', 'the reason, recorded in the ledger', { required: true }) },
      text: ({ id, account, amount_nano: amount }, { created }) =>
        `${created ? done : `${done} before`}: ${id}, ${amountText(amount)} of the account ${account}.\n`
    }
  })
}

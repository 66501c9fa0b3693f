import { LedgerCheck } from '../../../../schemas/admin/ledger.ts'
import { runLedgerCheck } from '../entries.ts'
import { fields, numbers, type Column } from '../format/columns.ts'
import { toTable } from '../format/table.ts'
import { operation } from '../operation.ts'

/** The check of the books. Violations are reported in a 200 response. */
export const ledgerOperations = [
  operation('POST /ledger/check', 'read', {
    summary: 'Check that the books agree with themselves',
    result: LedgerCheck,
    run: runLedgerCheck,
    command: {
      name: 'ledger check',
      description: 'check that the ledger is consistent; exits with 1 if it is not',
      text: report,
      isFailure: ({ ok }) => !ok
    }
  })
]

function report ({ ok, violations }: LedgerCheck): string {
  if (ok) return 'The books add up.\n'
  const byRule = new Map(violations.map(({ rule, meaning, advice }) => [rule, `${meaning} ${advice}`]))
  const explained = [...byRule].map(([rule, text]) => `\n${rule}\n  ${text}\n`)
  return toTable(violationColumns, violations) + explained.join('')
}

const violationColumns: Column<LedgerCheck['violations'][number]>[] = [
  ...fields('rule', 'subject'), ...numbers('expected', 'found')
]

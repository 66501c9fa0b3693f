import t from 'tap'
import { toTable } from '../../../../../services/operations/admin/format/table.ts'

interface Row { id: string, amount: string }

const columns = [
  { name: 'id', cell: ({ id }: Row) => id },
  { name: 'amount_usd', numeric: true, cell: ({ amount }: Row) => amount }
]

t.test('text is aligned to the left, numbers to the right', async t => {
  t.equal(toTable(columns, [{ id: 'a', amount: '1.00' }, { id: 'täglich', amount: '1234567.00' }]), [
    'ID       AMOUNT USD',
    'a              1.00',
    'täglich  1234567.00',
    ''
  ].join('\n'))
})

t.test('a table without rows is a header', async t => {
  t.equal(toTable(columns, []), 'ID  AMOUNT USD\n')
})

t.test('a cell cannot move the cursor of a terminal', async t => {
  const text = toTable(columns, [{ id: '\u001b[2Ja\nb\u0007', amount: '' }])
  t.equal(text.split('\n')[1], 'a b')
})

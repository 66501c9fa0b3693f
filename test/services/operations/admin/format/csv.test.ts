import fc from 'fast-check'
import t from 'tap'
import { toCsv } from '../../../../../services/operations/admin/format/csv.ts'

interface Row { name: string, amount: string }

const columns = [
  { name: 'name', cell: ({ name }: Row) => name },
  { name: 'amount_usd', numeric: true, cell: ({ amount }: Row) => amount }
]

async function * batched (...batches: Row[][]) {
  yield * batches
}

async function write (...batches: Row[][]): Promise<string> {
  return (await Array.fromAsync(toCsv(columns, batched(...batches)))).join('')
}

t.test('an empty list is a header', async t => {
  t.equal(await write(), 'name,amount_usd\r\n')
  t.equal(await write([]), 'name,amount_usd\r\n')
})

t.test('batches are concatenated', async t => {
  const text = await write([{ name: 'a', amount: '1.00' }], [{ name: 'b', amount: '2.00' }])
  t.equal(text, 'name,amount_usd\r\na,1.00\r\nb,2.00\r\n')
})

t.test('text that a spreadsheet would run is prefixed with a quote, numbers are not', async t => {
  const text = await write(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', 'a=1'].map(name => ({ name, amount: '-1.00' })))
  t.equal(text.split('\r\n').slice(1, -1).join(' '),
    "'=1+1,-1.00 '+1,-1.00 '-1,-1.00 '@SUM(A1),-1.00 '\t=1,-1.00 a=1,-1.00")
})

t.test('commas, quotes and line breaks are quoted', async t => {
  await fc.assert(fc.asyncProperty(fc.string({ unit: fc.constantFrom('a', ',', '"', '\r', '\n', ' ') }), async name => {
    const text = await write([{ name: `x${name}`, amount: '1' }])
    t.same(parse(text), [['name', 'amount_usd'], [`x${name}`, '1']])
  }))
})

/** A parser of RFC 4180, independent of the formatter. */
function parse (text: string): string[][] {
  return [...text.matchAll(/((?:"(?:[^"]|"")*"|[^",\r\n]*)(?:,(?:"(?:[^"]|"")*"|[^",\r\n]*))*)\r\n/g)]
    .map(([, line = '']) => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)]
      .map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? ''))
}

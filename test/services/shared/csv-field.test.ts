import t from 'tap'
import { csvField } from '../../../services/shared/csv-field.ts'

t.test('no spreadsheet runs a text as a formula, and numbers stay numbers', async t => {
  const dangerous = ['=1+2', '+1+2', '-1+cmd|a', '@1', '=HYPERLINK(1)', '\t=1', '\n=1']
  for (const text of dangerous) t.match(csvField(text), /^"?'/, JSON.stringify(text))
  t.same([-3, null, 'a-b', 'a "b"'].map(value => csvField(value)), ['-3', '', 'a-b', '"a ""b"""'])
  t.equal(csvField('-0.000000125', true), '-0.000000125', 'an amount is text, and a number')
})

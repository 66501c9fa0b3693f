import t from 'tap'
import { csvField } from '../../console/src/parts/csv-field.ts'

t.test('csv: no spreadsheet runs a text as a formula, and amounts stay numbers', async t => {
  const dangerous = ['=1+2', '+1+2', '-1+cmd|a', '@1', '=HYPERLINK(1)', '\t=1', '\n=1']
  for (const text of dangerous) t.match(csvField(text), /^"?'/, JSON.stringify(text))
  t.same(['-0.000000125', '12.50', -3, null, 'a-b', 'a "b"'].map(csvField), ['-0.000000125', '12.50', '-3', '', 'a-b', '"a ""b"""'])
})

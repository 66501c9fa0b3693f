import t from 'tap'
import { takesCoding } from '../../../services/http/takes-coding.ts'

t.test('a coding is taken if it is listed, unless its weight is 0', async t => {
  for (const accepted of ['br', 'gzip, br', 'gzip;q=0.5, BR ; q=0.1', ['gzip', 'br'], 'br;q=1.0']) {
    t.equal(takesCoding(accepted, 'br'), true, String(accepted))
  }
  for (const accepted of [undefined, '', 'gzip', 'br;q=0', 'gzip, br; q=0.000', 'x-br', 'brotli']) {
    t.equal(takesCoding(accepted, 'br'), false, String(accepted))
  }
})

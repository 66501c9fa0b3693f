import t from 'tap'
import { readCacheControl } from '../../../services/requests/request-headers.ts'
import { thrown } from '../../thrown.ts'

t.test('the header is read like Cache-Control', async t => {
  t.equal(readCacheControl(undefined), null)
  t.strictSame(readCacheControl('on'), { read: true, store: true, maxAgeMs: null })
  t.strictSame(readCacheControl('max-age=60'), { read: true, store: true, maxAgeMs: 60_000 })
  t.strictSame(readCacheControl('No-Cache , max-age=5'), { read: false, store: true, maxAgeMs: 5000 })
  t.strictSame(readCacheControl('no-store'), { read: false, store: false, maxAgeMs: null })
})

t.test('what it does not know is refused', async t => {
  for (const value of ['', 'yes', 'max-age', 'max-age=0', 'max-age=604801', 'max-age=-1', 'on;off', 'on,,']) {
    t.match(thrown(() => readCacheControl(value)), { status: 400 }, value)
  }
})

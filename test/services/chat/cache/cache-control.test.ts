import t from 'tap'
import { readCacheWish } from '../../../../services/chat/cache/cache-control.ts'
import { thrown } from '../../../thrown.ts'

t.test('the header is read like Cache-Control', async t => {
  t.equal(readCacheWish(undefined), null)
  t.strictSame(readCacheWish('on'), { read: true, store: true, maxAgeMs: null })
  t.strictSame(readCacheWish('max-age=60'), { read: true, store: true, maxAgeMs: 60_000 })
  t.strictSame(readCacheWish('No-Cache , max-age=5'), { read: false, store: true, maxAgeMs: 5000 })
  t.strictSame(readCacheWish('no-store'), { read: false, store: false, maxAgeMs: null })
})

t.test('what it does not know is refused', async t => {
  for (const value of ['', 'yes', 'max-age', 'max-age=0', 'max-age=604801', 'max-age=-1', 'on;off', 'on,,']) {
    t.match(thrown(() => readCacheWish(value)), { status: 400 }, value)
  }
})

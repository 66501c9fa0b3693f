import t from 'tap'
import { readCacheControl, readRequestOptions } from '../../../services/requests/request-headers.ts'
import { thrown } from '../../helpers/thrown.ts'

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

t.test('the conversation is the first header that names it', async t => {
  const of = (headers: Record<string, string>) => readRequestOptions(headers).conversation
  t.equal(of({}), null)
  t.equal(of({ 'x-session-id': '', 'x-tollgate-conversation': 'c' }), 'c')
  t.equal(of({ 'x-session-affinity': 'b', 'x-tollgate-conversation': 'c' }), 'b')
  t.equal(of({ 'x-session-id': 'a', 'x-session-affinity': 'b' }), 'a')
  t.equal(of({ 'x-session-id': 'a'.repeat(300) })?.length, 200)
})

import { createHash } from 'node:crypto'
import t from 'tap'
import { createToken, hashSecret, readKey } from '../../../services/keys/authenticate.ts'
import { maskKey } from '../../../services/keys/errors.ts'

t.test('a new key has an id and a secret, and can be parsed', async (t) => {
  const { id, secret, key } = createToken()
  t.match(key, /^sk-tg-[0-9a-f]{16}-[0-9a-f]{48}$/)
  t.same(readKey(key), { id, secretSha256: hashSecret(secret) })
  t.not(createToken().key, key)
})

t.test('a malformed key cannot be parsed', async (t) => {
  const { key } = createToken()
  const others = ['', 'sk-tg-', `${key}-x`, ` ${key}`, `${key}\n`, key.slice(0, 40), key.replace('tg', 'xx'),
    'sk-proj-abcdefghijklmnopqrstuvwxyz', `sk-tg-${'a'.repeat(33)}-${'b'.repeat(48)}`, `${key}${'a'.repeat(10_000)}`]
  for (const other of others) t.equal(readKey(other), null, other.slice(0, 60))
})

t.test('the hash is SHA-256', async (t) => {
  t.same(hashSecret('secret'), createHash('sha256').update('secret').digest())
})

t.test('a masked key shows eight characters and four', async (t) => {
  t.equal(maskKey('sk-tg-abcdefghijklmnop-qrstuvwxyz'), 'sk-tg-ab****wxyz')
  t.equal(maskKey('hunter2'), '****')
})

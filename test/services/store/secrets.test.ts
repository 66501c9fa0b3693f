import t from 'tap'
import { createSecretBox, type SecretKeys } from '../../../services/store/secret-box.ts'
import { resealSecrets, sharedSecret } from '../../../services/store/secrets.ts'
import type { Store } from '../../../services/store/store.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { spawnGateway } from '../../helpers/process.ts'
import { rejection, thrown } from '../../helpers/thrown.ts'

const [first, second] = ['the first key of this test, long', 'the second key of this test, long']
const boxOf = (current: string | null, previous: string | null = null) =>
  createSecretBox({ current, previous })
async function rowOf (store: Store, name: string): Promise<string> {
  return (await store.get<{ value: string }>('select value from secret where name = $1', [name]))?.value ?? ''
}

t.test('a sealed secret opens under its own name alone, and no two are alike', async t => {
  const box = boxOf(first)
  const sealed = box.seal('a', 'whsec_secret')
  t.equal(box.open('a', sealed), 'whsec_secret')
  t.notMatch(sealed, /whsec|secret/)
  t.not(box.seal('a', 'whsec_secret'), sealed)
  t.match(thrown(() => box.open('b', sealed)), { message: /The secret b .* was changed, or moved/ })
  const changed = sealed.replace(/(?<=^.{30})./, sign => sign === 'A' ? 'B' : 'A')
  t.match(thrown(() => box.open('a', changed)), { message: /was changed/ })
  t.match(thrown(() => box.open('a', sealed.slice(0, -24))), { message: /was changed/ })
  t.match(thrown(() => box.open('a', sealed.slice(0, 22))), { message: /was changed/ })
})

t.test('without its key a secret says which one it needs, and shows none', async t => {
  const sealed = boxOf(first).seal('media', 'the secret')
  const [, id = ''] = sealed.split('.')
  t.match(thrown(() => boxOf(null).open('media', sealed)), {
    message: new RegExp(`^The secret media .* with the key ${id}; none is set\\. Set TOLLGATE_SECRET_KEY`)
  })
  const other = thrown(() => boxOf(second, 'the third key of this test, long').open('media', sealed))
  t.match(other, { message: /set are [0-9a-f]{12} and [0-9a-f]{12}\./ })
  t.notMatch(String(other), /key of this test/)
})

forEachEngine(t, 'a key is set, replaced and given up without a secret being lost', async (t, { open }) => {
  const store = await open()
  const secret = await sharedSecret(store, boxOf(null), 'media')
  t.equal(await rowOf(store, 'media'), secret)
  const steps: [keys: SecretKeys, isSealed: boolean][] = [
    [{ current: null, previous: first }, false], [{ current: first, previous: null }, true],
    [{ current: first, previous: second }, true], [{ current: second, previous: first }, true],
    [{ current: second, previous: null }, true], [{ current: null, previous: second }, false]
  ]
  for (const [keys, isSealed] of steps) {
    const box = createSecretBox(keys)
    await resealSecrets(store, box)
    const row = await rowOf(store, 'media')
    t.equal(row.startsWith('enc1.'), isSealed)
    t.equal(row === secret, !isSealed)
    t.equal(await sharedSecret(store, box, 'media'), secret)
    await resealSecrets(store, box)
    t.equal(await rowOf(store, 'media'), row, 'once')
  }
})

forEachEngine(t, 'a wrong key is refused before anything is written', async (t, { open }) => {
  const store = await open()
  await sharedSecret(store, boxOf(first), 'media')
  const row = await rowOf(store, 'media')
  for (const box of [boxOf(null), boxOf(second)]) {
    t.match(await rejection(resealSecrets(store, box)), { message: /docs\/secrets\.md/ })
    t.match(await rejection(sharedSecret(store, box, 'media')), { message: /docs\/secrets\.md/ })
  }
  t.equal(await rowOf(store, 'media'), row)
})

forEachEngine(t, 'the gateway ends with one line where the key is missing', async (t, { open, url }) => {
  await sharedSecret(await open(), boxOf(first), 'media')
  const gateway = await spawnGateway(t, { DATABASE_URL: url })
  t.equal(await gateway.exited, 1)
  t.match(gateway.output(), /^Tollgate cannot start: The secret media [^\n]* TOLLGATE_SECRET_KEY[^\n]*\n$/)
})

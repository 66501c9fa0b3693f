import t from 'tap'
import { rotateWebhookSecret, webhookSecrets } from '../../../../services/videos/webhooks/secrets.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { secretBox } from '../../../helpers/secret-box.ts'

const dayMs = 24 * 3_600_000

forEachEngine(t, 'an account has one webhook secret, whichever node asks first', async (t, { open }) => {
  const store = await open()
  const found = await Promise.all(Array.from({ length: 8 }, () => webhookSecrets(store, secretBox, 'team', 1)))
  t.match(found[0], { current: /^whsec_[A-Za-z0-9+/]{43}=$/, previous: null, previousUntil: null })
  for (const secrets of found) t.strictSame(secrets, found[0])
  t.not((await webhookSecrets(store, secretBox, 'other', 1)).current, found[0]?.current)
})

forEachEngine(t, 'a secret that was replaced signs for another day', async (t, { open }) => {
  const store = await open()
  const rotate = async (at: number) => await store.transaction(queries => rotateWebhookSecret(queries, secretBox, 'team', at))
  const first = await webhookSecrets(store, secretBox, 'team', 1)
  const second = await rotate(1000)
  t.not(second.current, first.current)
  t.match(second, { previous: first.current, previousUntil: 1000 + dayMs })
  t.strictSame(await webhookSecrets(store, secretBox, 'team', 999 + dayMs), second)
  t.strictSame(await webhookSecrets(store, secretBox, 'team', 1000 + dayMs), { current: second.current, previous: null, previousUntil: null })
  const third = await rotate(2000)
  t.match(third, { previous: second.current, previousUntil: 2000 + dayMs }, 'the first one signs no more')
})

forEachEngine(t, 'concurrent rotations follow each other', async (t, { open }) => {
  const store = await open()
  const rotations = Array.from({ length: 4 }, () => store.transaction(queries => rotateWebhookSecret(queries, secretBox, 'team', 5)))
  const made = await Promise.all(rotations)
  t.equal(new Set(made.map(({ current }) => current)).size, 4)
  const { current, previous } = await webhookSecrets(store, secretBox, 'team', 5)
  const chain = new Map(made.map(({ current, previous }) => [current, previous]))
  t.equal(chain.get(current), previous)
  t.equal(new Set(made.map(({ previous }) => previous)).size, 4, 'each replaced another one')
})

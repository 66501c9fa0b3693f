import t from 'tap'
import { createOidc, roleOf } from '../../../../services/keys/sessions/oidc.ts'
import { rejection } from '../../../helpers/thrown.ts'

const settings = {
  issuer: 'http://127.0.0.1:9',
  clientId: 'tollgate',
  clientSecret: null,
  label: '',
  scope: 'openid',
  groupsClaim: 'groups',
  roles: [{ group: 'admins', role: 'owner' as const }, { group: 'staff', role: 'viewer' as const }]
}

t.test('a sign-in that took ten minutes is refused before the provider is asked', async t => {
  const url = new URL('http://127.0.0.1/console/sign-in/callback?code=a&state=b')
  const attempt = '0.a-token'
  const late = createOidc(() => 600_000)
  t.match(await rejection(late.finish(settings, attempt, url)), { status: 401, message: /too long/ })
  t.match(await rejection(late.finish(settings, '1200000.of-the-future', url)), { status: 401 })
  t.match(await rejection(late.finish(settings, 'made-up', url)), { status: 401 })
  const inTime = createOidc(() => 599_999)
  t.match(await rejection(inTime.finish(settings, attempt, url)), { status: 503 })
})

t.test('the first listed group that somebody belongs to decides', async t => {
  t.equal(roleOf(settings, ['staff', 'admins']), 'owner')
  t.equal(roleOf(settings, ['staff']), 'viewer')
  t.equal(roleOf(settings, ['other']), null)
  t.equal(roleOf(settings, []), null)
})

import { Type, type Static } from '@sinclair/typebox'
import { Closed } from './shared.ts'
import { keyRoles, permissions } from './keys.ts'
import { Nullable, StringEnum } from '../shared/combinators.ts'

/** A user key that pays for requests to `/v1`. */
const Payer = Type.Object({ key: Type.String(), label: Type.String(), account: Type.String() })

/** The console session. Without one, `signed_in` is false and all other members are null or empty. */
export const ConsoleSession = Type.Object({
  object: Type.Literal('session'),
  signed_in: Type.Boolean(),
  actor: Nullable(Type.String({ description: 'The name in the audit log: `key:<id>`, or `env` for TOLLGATE_ADMIN_KEY.' })),
  role: Nullable(StringEnum(keyRoles)),
  label: Nullable(Type.String()),
  account: Nullable(Type.String({ description: 'The account that a user\'s session reads; null for all accounts.' })),
  permissions: Type.Array(StringEnum(permissions)),
  payer: Nullable(Payer),
  csrf_token: Nullable(Type.String({ description: 'Send it as `x-csrf-token` with changes and with all requests to `/v1`.' })),
  oidc: Nullable(Type.Object({
    label: Type.String({ description: 'The label of the button.' }),
    path: Type.String({ description: 'The path that it opens.' })
  }, { description: 'Sign-in at an identity provider; null without one.' })),
  started_at: Nullable(Type.String()),
  expires_at: Nullable(Type.String({ description: 'When the session expires; each use extends it.' }))
}, {
  examples: [{
    object: 'session',
    signed_in: true,
    actor: 'key:5d2c8f0e41b7a963',
    role: 'operator',
    label: 'Dana',
    account: null,
    permissions: ['read', 'operate'],
    payer: null,
    csrf_token: 'b0LrXwq3mFJ7c2uY',
    oidc: null,
    started_at: '2026-11-21T09:30:00.000Z',
    expires_at: '2026-11-21T17:30:00.000Z'
  }]
})
export type ConsoleSession = Static<typeof ConsoleSession>

/** Body of `POST /console/session` and `PUT /console/session/key`. */
export const SignIn = Closed({ key: Type.String({ minLength: 1, maxLength: 512 }) })

/** Query of `DELETE /console/session`: whether to sign out other browsers too. */
export const SignOut = Closed({
  everywhere: Type.Optional(StringEnum(['true', 'false']))
})

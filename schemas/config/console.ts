import { Type } from '@sinclair/typebox'
import { flag, oneOf, strict, type Parsed } from './fields.ts'

const GroupRole = Type.Object({
  group: Type.String({ minLength: 1, maxLength: 256, description: 'A group of the identity provider.' }),
  role: oneOf(['owner', 'operator', 'finance', 'viewer'], { description: 'The role of its members.' })
}, strict)

const Oidc = Type.Object({
  issuer: Type.String({
    pattern: '^(https://|http://(localhost|127\\.0\\.0\\.1)(:|/|$))',
    maxLength: 2_000,
    description: 'The issuer of the identity provider; its metadata is discovered below this URL.',
    examples: ['https://login.example.com']
  }),
  client_id: Type.String({ minLength: 1, maxLength: 512, description: 'The client id registered there.' }),
  client_secret: Type.Optional(Type.String({
    minLength: 1, maxLength: 2_000, description: 'The client secret. Default: none, for a public client.'
  })),
  label: Type.String({ minLength: 1, maxLength: 64, default: 'single sign-on', description: 'The label of the sign-in button.' }),
  scope: Type.String({ minLength: 1, maxLength: 512, default: 'openid profile email', description: 'The requested scopes.' }),
  groups_claim: Type.String({
    minLength: 1, maxLength: 256, default: 'groups', description: 'The claim with the groups, in the ID token or the user info.'
  }),
  roles: Type.Array(GroupRole, {
    minItems: 1, maxItems: 200, description: 'The role of each group; the first group that a person belongs to decides.'
  })
}, { ...strict, description: 'Sign-in by OpenID Connect. Default: by keys alone.' })

/** The block `console`. */
export const ConsoleBlock = Type.Object({
  enabled: flag('Whether to serve the console. Without it, `/console` returns 404 and sessions are rejected.', true),
  oidc: Type.Optional(Oidc)
}, { ...strict, default: {}, description: 'The operator console.' })

/** Without `oidc` (null), people sign in with keys only. */
export type ConsoleSettings = Parsed<typeof ConsoleBlock>

export const consoleDefaults: ConsoleSettings = { enabled: true, oidc: null }

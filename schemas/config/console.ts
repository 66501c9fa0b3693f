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
    description: 'The issuer of the identity provider; its metadata are discovered below it.',
    examples: ['https://login.example.com']
  }),
  client_id: Type.String({ minLength: 1, maxLength: 512, description: 'The client that was registered there.' }),
  client_secret: Type.Optional(Type.String({
    minLength: 1, maxLength: 2_000, description: 'Its secret. Default: none, for a public client.'
  })),
  label: Type.String({ minLength: 1, maxLength: 64, default: 'single sign-on', description: 'What the button says.' }),
  scope: Type.String({ minLength: 1, maxLength: 512, default: 'openid profile email', description: 'The scopes to ask for.' }),
  groups_claim: Type.String({
    minLength: 1, maxLength: 256, default: 'groups', description: 'The claim with the groups, in the ID token or the user info.'
  }),
  roles: Type.Array(GroupRole, {
    minItems: 1, maxItems: 200, description: 'The role by group; the first group that a person belongs to decides.'
  })
}, { ...strict, description: 'Sign-in by OpenID Connect. Default: by keys alone.' })

/** The block `console`. */
export const ConsoleBlock = Type.Object({
  enabled: flag('Whether there is a console: without one, `/console` is unknown and no session counts.', true),
  oidc: Type.Optional(Oidc)
}, { ...strict, default: {}, description: 'The operator console.' })

/** Null for oidc: people sign in with keys alone. */
export type ConsoleSettings = Parsed<typeof ConsoleBlock>

export const consoleDefaults: ConsoleSettings = { enabled: true, oidc: null }

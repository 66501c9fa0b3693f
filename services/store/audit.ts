import { isDeepStrictEqual } from 'node:util'
import type { Queries } from './store.ts'

/** The actor of a change. */
export interface Actor {
  /** `key:<id>`, `oidc:<subject>`, `cli:<user>`, `env` for TOLLGATE_ADMIN_KEY, or `gateway`. */
  readonly id: string
  /** The label of an admin key at that time. */
  readonly label: string | null
}

/** The gateway itself, e.g. on its first start. */
export const gatewayActor: Actor = { id: 'gateway', label: null }

type Facts = Readonly<Record<string, unknown>>

/** One change by an operator. Its facts never contain a secret. */
export interface Change {
  actor: Actor
  /** E.g. `key.update`. */
  action: string
  /** The changed object, e.g. `key:0123` or `account:team`. */
  target: string
  /** Null for something new. */
  before?: Facts | null
  after: Facts | null
  /** Milliseconds since 1970. */
  at: number
}

/**
 * Adds a change to the audit log, in the transaction of the change. Keeps only the fields of `before` and
 * `after` that differ; without any, nothing is recorded.
 */
export async function recordChange (
  queries: Pick<Queries, 'run'>, { actor, action, target, before = null, after, at }: Change
): Promise<void> {
  const fields = Object.keys({ ...before, ...after })
    .filter(name => !isDeepStrictEqual(before?.[name], after?.[name]))
  if (fields.length === 0) return
  const json = (facts: Facts | null) => facts === null
    ? null
    : JSON.stringify(Object.fromEntries(fields.map(name => [name, facts[name]])))
  await queries.run(`
    insert into audit (at, actor, actor_label, action, target, facts_before, facts_after)
    values ($1, $2, $3, $4, $5, $6, $7)`, [at, actor.id, actor.label, action, target, json(before), json(after)])
}

import type { Model, ModelList } from '../../schemas/openai/models.ts'
import type { ModelConfig } from '../config/catalogue/types.ts'
import { createLru } from '../shared/lru.ts'
import { describeModel } from './describe.ts'
import { describePolicy } from './describe-policy.ts'
import type { Models } from './models.ts'

/** The key of a request, as far as its list of models depends on it. */
export interface ListingKey { readonly models: readonly string[] | null, mayUse (model: string): boolean }

/** What a key may use: policies first. */
export interface ModelListing {
  list: ModelList
  /** Those available at every chat endpoint. */
  chat: Model[]
  /** The list as text, and that for Codex, once they have been serialized. */
  text?: string
  codexText?: string
}

export type ModelLists = ReturnType<typeof createModelLists>

interface ModelListsOptions {
  models: Pick<Models, 'list' | 'version' | 'config' | 'servesChat'>
  /** The models that a policy chooses from at first, for a key. */
  inReach (policy: string, mayUse: ListingKey['mayUse']): readonly ModelConfig[]
}

/** A list of a thousand models takes about a megabyte. */
const maxLists = 16

/** Lists of models by what keys may use, kept until the models change. */
export function createModelLists ({ models, inReach }: ModelListsOptions) {
  const listings = createLru<ModelListing>(maxLists)
  let version: number | undefined

  function describePolicyFor (id: string, mayUse: ListingKey['mayUse']): Model | null {
    const reachable = inReach(id, mayUse)
    return reachable.length === 0 ? null : describePolicy(id, reachable)
  }

  function listFor (mayUse: ListingKey['mayUse']): ModelListing {
    const policies = models.config().policies.toSorted((one, other) => autoFirst(one) - autoFirst(other))
      .map(({ id }) => describePolicyFor(id, mayUse))
      .filter(policy => policy !== null)
    const usable = models.list().filter(({ id }) => mayUse(id))
    const described = new Map(usable.map(model => [model, describeModel(model)]))
    return {
      list: listOf([...policies, ...described.values()]),
      chat: [
        ...policies.filter(({ kind }) => kind === 'chat'),
        ...[...described].filter(([model]) => models.servesChat(model)).map(([, record]) => record)
      ]
    }
  }

  return {
    /** The models that a key may use. The same object as long as nothing changes. */
    of ({ models: globs, mayUse }: ListingKey): ModelListing {
      if (version !== models.version()) listings.clear()
      version = models.version()
      const scope = JSON.stringify(globs)
      const listing = listings.get(scope) ?? listFor(mayUse)
      listings.set(scope, listing)
      return listing
    },
    /** A policy as a key sees it; null if there is none with a model that the key may use. */
    policy: (id: string, mayUse: ListingKey['mayUse']): Model | null =>
      models.config().policies.some(policy => policy.id === id) ? describePolicyFor(id, mayUse) : null
  }
}

function autoFirst ({ id }: { id: string }): number {
  return id === 'auto' ? 0 : 1
}

/** The whole list, with the members that OpenRouter's clients need. */
function listOf (data: Model[]): ModelList {
  return { object: 'list', data, total_count: data.length, links: { next: null } }
}

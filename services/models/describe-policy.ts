import type { Model } from '../../schemas/openai/models.ts'
import type { Capabilities, ModelConfig } from '../config/catalogue/types.ts'
import { describeModel } from './describe.ts'

/**
 * Describes a policy as a model, by the models that it chooses from: the greatest limits, and every ability
 * that one of them has. There must be at least one.
 */
export function describePolicy (id: string, models: readonly ModelConfig[]): Model {
  const described = describeModel({
    id,
    kind: models.some(({ kind }) => kind === 'chat') ? 'chat' : 'video',
    deployments: [],
    price: null,
    contextWindow: greatest(models.map(({ contextWindow }) => contextWindow)),
    maxOutput: greatest(models.map(({ maxOutput }) => maxOutput)),
    capabilities: union(models.map(({ capabilities }) => capabilities)),
    quality: {},
    ownedBy: 'tollgate',
    created: greatest(models.map(({ created }) => created)) ?? 0
  })
  return { ...described, description: `Chooses one of ${models.length} models for each request.` }
}

function greatest (numbers: readonly (number | null)[]): number | null {
  const some = numbers.filter(number => number !== null)
  return some.length === 0 ? null : Math.max(...some)
}

function union (all: readonly Capabilities[]): Capabilities {
  return {
    tools: all.some(({ tools }) => tools),
    vision: all.some(({ vision }) => vision),
    audio: all.some(({ audio }) => audio),
    files: all.some(({ files }) => files),
    jsonSchema: all.some(({ jsonSchema }) => jsonSchema),
    reasoning: all.some(({ reasoning }) => reasoning),
    streaming: all.some(({ streaming }) => streaming)
  }
}

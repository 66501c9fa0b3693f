import type { PolicyEntry } from '../../../schemas/config/config.ts'
import { compileGlob } from '../../shared/glob.ts'
import type { CheckedFile } from '../validate/check-structure.ts'
import type { PolicyConfig } from '../../catalogue/types.ts'
import { readNano } from './prices.ts'
import type { YamlDocument } from '../yaml/document.ts'

const builtInIds = ['auto', 'auto:cost', 'auto:quality', 'auto:speed']

/** The policies that exist without being listed; each chooses among all models. */
export function builtInPolicies (): PolicyConfig[] {
  return builtInIds.map((id) => toPolicy({ id }, null))
}

/**
 * The file's policies, then the built-in ones it does not redefine. Reports ids given twice and names that no
 * chat model has; a video model has to be named in full. `discovering` holds the ids of providers whose
 * models are not known yet.
 */
export function readPolicies (
  { policies, models }: CheckedFile,
  chatIds: readonly string[],
  videoIds: readonly string[],
  discovering: ReadonlySet<string>,
  document: YamlDocument
): PolicyConfig[] {
  const candidates = [...chatIds, ...models.brokenIds]
  const ids = new Set<string>()
  const read = policies.list.map(({ item, path }) => {
    if (ids.has(item.id)) document.report([...path, 'id'], 'is the id of an earlier policy too')
    ids.add(item.id)
    for (const [index, glob] of (item.models ?? []).entries()) {
      const [provider = ''] = glob.split('/', 1)
      const matches = compileGlob(glob)
      if (!models.complete || glob === '*' || discovering.has(provider) || candidates.some(matches)) continue
      if (videoIds.includes(glob)) continue
      document.report([...path, 'models', index], 'matches no chat model')
    }
    return toPolicy(item, readNano(document, [...path, 'ceiling']))
  })
  return [...read, ...builtInPolicies().filter(({ id }) => !ids.has(id))]
}

function toPolicy (
  { id, models = ['*'], cost_weight: costWeight, latency_weight: latencyWeight }: PolicyEntry,
  ceilingNano: number | null
): PolicyConfig {
  return {
    id,
    models: [...models],
    costWeight: costWeight ?? null,
    latencyWeight: latencyWeight ?? null,
    ceilingNano
  }
}

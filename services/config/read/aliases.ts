import { compileGlob } from '../../shared/glob.ts'
import type { AliasConfig, ModelConfig, PolicyConfig, ProviderConfig } from '../catalogue/types.ts'
import { suggest } from '../validate/suggest.ts'
import type { YamlDocument } from '../yaml/document.ts'

interface Targets {
  providers: readonly ProviderConfig[]
  models: readonly ModelConfig[]
  policies: readonly PolicyConfig[]
  /** Providers that may offer models by bare names. */
  discovering: ReadonlySet<string>
}

/** Returns the file's aliases in order. Reports patterns that never apply, and targets that do not exist. */
export function readAliases (
  aliases: Readonly<Record<string, string>>, targets: Targets, document: YamlDocument
): AliasConfig[] {
  const { models, policies } = targets
  const ids = new Set([...models, ...policies].map(({ id }) => id))
  return Object.entries(aliases).map(([pattern, model]) => {
    const at = ['aliases', pattern]
    if (!/^\S{1,256}$/.test(pattern)) document.report(at, 'must be 1–256 characters without spaces', 'key')
    else if (/^auto(:|$)/.test(pattern)) document.report(at, 'is reserved: "auto" and "auto:…" choose a model', 'key')
    else if (ids.has(pattern)) document.report(at, 'is the id of a model, so the alias never applies', 'key')
    if (!ids.has(model) && !mayExist(model, targets)) {
      document.report(at, `is not a model or policy${suggest(document.written(at), ids)}`)
    }
    return { pattern, model }
  })
}

/** Whether a provider may have a model that the file does not list. */
function mayExist (model: string, { providers, discovering }: Targets): boolean {
  const [provider = ''] = model.split('/', 1)
  const claims = providers.flatMap(({ claims }) => claims)
  return providers.some(({ id }) => id === provider) || claims.some(glob => compileGlob(glob)(model)) ||
    (discovering.size > 0 && !/^auto(:|$)/.test(model))
}

import { Type, type Static } from '@sinclair/typebox'
import { count, oneOf, strict } from './fields.ts'

const use = Type.String({
  minLength: 1,
  maxLength: 1024,
  description: 'A file relative to this one, a package, or a shipped plugin: `tollgate/guardrail`, `tollgate/redact`, ' +
    '`tollgate/jwt`, `tollgate/prompt-log`.',
  examples: ['./guard.ts', 'tollgate/redact']
})

/** One item of `plugins`. */
export const PluginEntry = Type.Object({
  use,
  on_error: Type.Optional(oneOf(['fail', 'skip'], {
    description: 'What a hook that fails or exceeds its time does: it ends the request with a 500 (`fail`), or the ' +
      'request is served without the plugin (`skip`). Default: the plugin\'s value, else `fail`.'
  })),
  timeout_ms: Type.Optional(count('The time limit of each hook, in milliseconds. Default: the plugin\'s value, else 5000.', 1, 600_000)),
  options: Type.Optional(Type.Record(Type.String(), Type.Unknown(), {
    description: 'What the plugin is created with; its documentation describes them.'
  }))
}, { ...strict, description: 'A plugin with its options.' })

/** `plugins`: the plugins in the order in which their hooks run. */
export const PluginList = Type.Array(Type.Union([use, PluginEntry]), {
  maxItems: 50,
  default: [],
  description: 'Plugins, in the order in which their hooks run: a name or file, or a map with its options. They are ' +
    'loaded at the start; a change of this list takes effect at the next one.'
})
export type PluginList = Static<typeof PluginList>

/** A plugin to load; line and column are its place in the file. */
export interface PluginConfig {
  use: string
  onError: 'fail' | 'skip' | null
  timeoutMs: number | null
  options: Record<string, unknown>
  line: number
  column: number
}
